package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/folder"

	"github.com/spf13/cobra"
)

// compacted is the result of compacting.
type compacted struct {
	Before int64    `json:"bytes_before"`
	Bytes  int64    `json:"bytes"`
	Older  []string `json:"older_files"` // that hold what was erased
}

func compactCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "compact", Short: "Write the store's file again, without what was deleted or erased", Args: cobra.NoArgs,
		Long: "A server that runs goes on at the same time.",
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var done compacted
		err := t.with(cmd.Context(), control.Need{}, func(l *control.Line) (err error) { // erasures that were begun are finished by it
			done, err = compact(cmd.Context(), l, t.folder.Dir)
			return err
		})
		switch {
		case err != nil:
			return err
		case *asJSON:
			return t.JSON(done)
		}
		fmt.Fprintf(t.Out, "%s bytes instead of %s\n", console.Number(done.Bytes), console.Number(done.Before))
		printOlder(t.Out, done.Older)
		return nil
	}
	return cmd
}

// compact asks for the store to be compacted. Without a server it also deletes a search index that may hold erased people: no process updates
// the index now, and the next server builds it again.
func compact(ctx context.Context, l *control.Line, dir string) (done compacted, err error) {
	answer, err := l.Call(ctx, control.Get("/control/olderfiles", nil))
	if err != nil {
		return done, err
	}
	var held struct {
		Due int `json:"uncompacted"`
	}
	if err := errors.Join(json.Unmarshal(answer, &done), json.Unmarshal(answer, &held)); err != nil {
		return done, err
	}
	if answer, err = l.Call(ctx, control.Post("/control/compact", nil)); err != nil {
		return done, err
	}
	if err := json.Unmarshal(answer, &done); err != nil {
		return done, err
	}
	if held.Due == 0 {
		done.Older = []string{} // nothing was erased that they still hold
		return done, nil
	}
	if l.Served {
		return done, nil
	}
	return done, folder.RemoveIndex(dir)
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
