package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"doorward/cmd/doorward/archive"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/folder"
	"doorward/kv"
	"doorward/kv/backup"
	"doorward/kv/engine"
	"doorward/kv/table"

	"github.com/spf13/cobra"
)

func backupCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write a verified copy of the store, also while it is served", Args: words(1),
		Long: "Write a verified copy of the store to FILE, also while serve runs, and beside it FILE.json, which says what it is a copy of.\n" +
			"An older backup with that name is replaced. A backup holds all records and keys: keep it on another disk, and closed to others.",
		Example: "  doorward backup --data data monday.db",
	}
	t.jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		made, err := archive.Backup(cmd.Context(), t.open(control.Need{}), args[0])
		if err != nil {
			return err
		}
		return t.tell(made, func() {
			fmt.Fprintf(t.Out, "%s: %s bytes, as of %s\n", args[0], console.Number(made.Bytes), made.At.In(t.folder.Zone).Format(time.DateTime))
		})
	}
	return cmd
}

const restoreExamples = `  # on a new computer
  doorward restore --data data monday.db
  # in the place of the store that is there
  doorward restore --data data monday.db --replace`

func restoreCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Make a store of a backup", Args: words(1), Example: restoreExamples,
		Long: "Make a store of the backup FILE. The folder holds no store yet; with --replace the backup takes the place of the one that is there,\n" +
			"also while serve runs. That one is kept beside it. A backup of another congregation, and a damaged one, are refused.",
	}
	replace := cmd.Flags().Bool("replace", false, "put it in the place of the store that is there, which is kept beside it")
	t.jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		done, err := archive.Restore(cmd.Context(), t.open(control.Need{}), args[0], *replace)
		if err != nil {
			return err
		}
		return t.tell(done, func() {
			fmt.Fprintf(t.Out, "%s holds what %s held; a new epoch begins: %s\n", t.folder.Dir, args[0], done.Epoch)
			if done.Kept != "" {
				fmt.Fprintf(t.Out, "the store before is kept as %s\n", done.Kept)
				printUnsent(t, &done)
			}
		})
	}
	return cmd
}

// printUnsent prints how many changes of the replaced store never reached the centre, and the command that sends them through the new store.
func printUnsent(t *tool, done *archive.Restored) {
	switch {
	case done.Unsent == nil:
		fmt.Fprintln(t.Out, "the store before cannot be read: whether it holds anything that never reached the centre is not known")
	case *done.Unsent > 0:
		fmt.Fprintf(t.Out, "the store before holds %s that never reached the centre; this takes them up, and serve sends them:\n  %s\n",
			console.Number(*done.Unsent)+console.Plural(*done.Unsent, " change", " changes"), console.Shell(t.Name, "replicate", done.Kept, t.folder.Dir))
	}
}

func verifyCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify", Short: "Check every stored value of a store", Args: words(0), Example: "  doorward verify --data data",
		Long: "Check every stored value of a store, also while serve runs, and name what is damaged. The exit code is 1 if anything is.",
	}
	t.jsonFlag(cmd)
	here := cmd.Flags().Bool("here", false, "check in this process and print the handler's answer as it comes")
	keeps := cmd.Flags().Bool("keep", false, "open the file for reading alone, so that it stays as it is")
	_, _ = cmd.Flags().MarkHidden("here"), cmd.Flags().MarkHidden("keep") // the flags were made above
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, o := cmd.Context(), t.open(control.Need{Aside: true, Reads: true, Keeps: *keeps})
		if *here {
			return verifyHere(t, control.With(ctx, o, func(l *control.Line) error { return relayVerify(ctx, t.Exact(), l) }))
		}
		found, err := archive.Verify(ctx, o)
		if found == nil {
			return err
		}
		archive.NoteVerify(o, found.Damaged)
		if err != nil && t.asJSON {
			return printUnopened(t, found, err)
		}
		well := found.Damaged == 0 || found.File != "" // why the file cannot be opened is an error of its own
		return cmp.Or(t.report(found.Answer, func() { printVerdict(t, found) }, well), err)
	}
	return cmd
}

// relayVerify copies the handler's answer to standard output.
func relayVerify(ctx context.Context, out io.Writer, l *control.Line) error {
	resp, err := l.Send(ctx, control.Get("/control/verify", nil))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, resp.Body)
	if err != nil && ctx.Err() != nil {
		err = console.ErrStopped
	}
	return errors.Join(err, resp.Body.Close())
}

// verifyHere checks the pages of a file that could not be opened, for the reason err, and prints the result as the handler would.
func verifyHere(t *tool, err error) error {
	if !errors.Is(err, engine.ErrCorrupt) {
		return err
	}
	rep, failed := kv.Inspect(t.folder.Dir)
	if failed != nil || rep.Rows == 0 {
		return err // it says all that is known
	}
	rep.Damage = append([]string{}, rep.Damage...) // a list, also if it is empty
	return t.JSON(map[string]any{"result": struct {
		backup.Report
		File string `json:"file"`
	}{rep, err.Error()}})
}

// printUnopened prints the faults of a file that cannot be opened, and the reason, as one JSON object.
func printUnopened(t *tool, found *archive.Verdict, why error) error {
	var members map[string]any
	if err := json.Unmarshal(found.Answer, &members); err != nil {
		return fmt.Errorf("the child's answer: %w", err)
	}
	delete(members, "file") // it may name a copy; why names the store
	members["error"] = control.Problem{Message: why.Error()}
	if err := t.JSON(members); err != nil {
		return err
	}
	t.Warn("%v", why)
	return console.ErrSaid
}

// printVerdict prints the result, and names the newest backup if there is damage.
func printVerdict(t *tool, v *archive.Verdict) {
	if v.Damaged == 0 {
		fmt.Fprintf(t.Out, "no damage: %s values, %s records\n", console.Number(v.Rows), console.Number(v.Records))
		return
	}
	for _, d := range v.Damage {
		fmt.Fprintln(t.Out, d)
	}
	if more := v.Damaged - int64(len(v.Damage)); more > 0 {
		fmt.Fprintf(t.Out, "and %s more\n", console.Number(more))
	}
	fmt.Fprintf(t.Out, "damage found: %s faults in %s values\n", console.Number(v.Damaged), console.Number(v.Rows))
	if backup := table.NewestBackup(t.folder.Dir, t.folder.Zone); backup != "" && v.File == "" {
		fmt.Fprintln(t.Out, backup)
	}
}

// compacted is the result of compacting.
type compacted struct {
	backup.Compacted
	Older []string `json:"older_files"` // that hold what was erased
}

func compactCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "compact", Short: "Write the store's file again, without what was deleted or erased", Args: words(0),
		Long: "Write the store's file again, without what was deleted or erased, so that its bytes are gone and its room is free. A server that\n" +
			"runs goes on at the same time. The disk needs room for a second file.",
		Example: "  doorward compact --data data",
	}
	t.jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var done compacted
		err := t.with(cmd.Context(), control.Need{}, func(l *control.Line) (err error) { // erasures that were begun are finished by it
			done, err = compact(cmd.Context(), l, t.folder.Dir)
			return err
		})
		if err != nil {
			return err
		}
		return t.tell(done, func() {
			fmt.Fprintf(t.Out, "%s bytes instead of %s\n", console.Number(done.Bytes), console.Number(done.Before))
			printOlder(t.Out, done.Older)
		})
	}
	return cmd
}

// compact asks for the store to be compacted. The files of a search index may hold words of what was erased: a server builds its index again, and
// without a server the index is deleted, since the next server builds it.
func compact(ctx context.Context, l *control.Line, dir string) (done compacted, err error) {
	held, err := control.Ask[struct {
		Files []string `json:"older_files"`
		Due   int      `json:"uncompacted"`
	}](ctx, l, control.Get("/control/olderfiles", nil))
	if err != nil {
		return done, err
	}
	if done, err = control.Ask[compacted](ctx, l, control.Post("/control/compact", nil)); err != nil {
		return done, err
	}
	done.Older = held.Files
	if held.Due == 0 {
		done.Older = []string{} // nothing was erased that they still hold
		return done, nil
	}
	if !l.Served {
		return done, folder.RemoveIndex(dir)
	}
	if _, err := l.Follow(ctx, control.Post("/control/reindex", nil)); err != nil {
		return done, fmt.Errorf("the file is compacted, but the search index may hold what was erased until doorward reindex has run: %w", err)
	}
	return done, nil
}

// printOlder names the files that hold what was erased.
func printOlder(w io.Writer, files []string) {
	if len(files) > 0 {
		fmt.Fprintln(w, "older files still hold it, and are yours to delete:")
	}
	for _, file := range files {
		fmt.Fprintf(w, "  %s\n", file)
	}
}

func reindexCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "reindex", Short: "Build the search index again", Args: words(0), Example: "  doorward reindex --data data",
		Long: "Build the search index again. This is hardly ever needed: serve builds an index that is missing or damaged by itself.",
	}
	t.jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), control.Need{Indexed: true}, func(l *control.Line) error {
			answer, err := l.Follow(cmd.Context(), control.Post("/control/reindex", nil))
			if err != nil {
				return err
			}
			var made struct{ Documents int64 }
			return t.show(answer, &made, func() error { return t.Printf("indexed %s records\n", console.Number(made.Documents)) })
		})
	}
	return cmd
}
