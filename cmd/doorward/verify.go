package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"doorward/api"
	"doorward/cmd/doorward/archive"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/kv"
	"doorward/kv/engine"
	"doorward/kv/table"
)

func verifyCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{Use: "verify", Short: "Check every stored value of a store", Args: cobra.NoArgs}
	asJSON := jsonFlag(cmd)
	here := cmd.Flags().Bool("here", false, "check in this process and print the handler's answer as it comes")
	_ = cmd.Flags().MarkHidden("here") // the flag was made above
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, o := cmd.Context(), t.open(control.Need{Aside: true, Reads: true})
		if *here {
			return verifyHere(t, control.With(ctx, o, func(l *control.Line) error { return relayVerify(ctx, t.Out, l) }))
		}
		answer, err := archive.Verify(ctx, o)
		if answer == nil {
			return err
		}
		if err != nil && *asJSON {
			return printUnopened(t, answer, err)
		}
		return cmp.Or(printVerify(t, answer, *asJSON), err)
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
	return t.JSON(map[string]any{"result": api.Verdict(rep, err.Error())})
}

// printUnopened notes the faults of a file that cannot be opened, and prints them and the reason as one JSON object.
func printUnopened(t *tool, answer json.RawMessage, why error) error {
	var members map[string]any
	var found struct{ Damaged int64 }
	if err := errors.Join(json.Unmarshal(answer, &members), json.Unmarshal(answer, &found)); err != nil {
		return fmt.Errorf("the child's answer: %w", err)
	}
	archive.NoteVerify(t.open(control.Need{}), found.Damaged)
	delete(members, "file") // it may name a copy; why names the store
	members["error"] = control.Problem{Message: why.Error()}
	if err := t.JSON(members); err != nil {
		return err
	}
	t.Warn("%v", why)
	return console.ErrSaid
}

// verdict is the part of the handler's answer that is printed.
type verdict struct {
	Rows, Records, Damaged int64
	Damage                 []string
	File                   string
}

// printVerify notes and prints the result, and names the newest backup if there is damage. Damage makes the command fail.
func printVerify(t *tool, answer json.RawMessage, asJSON bool) error {
	var found verdict
	if err := control.Read(answer, &found); err != nil {
		return err
	}
	archive.NoteVerify(t.open(control.Need{}), found.Damaged)
	if asJSON {
		if err := t.JSON(answer); err != nil {
			return err
		}
	} else {
		found.print(t)
	}
	if found.Damaged > 0 && found.File == "" {
		return console.ErrSaid
	}
	return nil // why the file cannot be opened is an error of its own
}

func (v *verdict) print(t *tool) {
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
