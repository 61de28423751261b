package main

import (
	"fmt"
	"time"

	"doorward/cmd/doorward/archive"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"

	"github.com/spf13/cobra"
)

func backupCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{Use: "backup FILE", Short: "Write a verified copy of the store, also while it is served", Args: words(1)}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		made, err := archive.Backup(cmd.Context(), t.open(control.Need{}), args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return t.JSON(made)
		}
		return t.Printf("%s: %s bytes, as of %s\n", args[0], console.Number(made.Bytes), made.At.In(t.folder.Zone).Format(time.DateTime))
	}
	return cmd
}

func restoreCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{Use: "restore FILE", Short: "Make a store of a backup", Args: words(1)}
	replace := cmd.Flags().Bool("replace", false, "put it in the place of the store that is there, which is kept beside it")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		done, err := archive.Restore(cmd.Context(), t.open(control.Need{}), args[0], *replace)
		if err != nil {
			return err
		}
		if *asJSON {
			return t.JSON(done)
		}
		fmt.Fprintf(t.Out, "%s holds what %s held; a new epoch begins: %s\n", t.folder.Dir, args[0], done.Epoch)
		if done.Kept != "" {
			fmt.Fprintf(t.Out, "the store before is kept as %s\n", done.Kept)
			printUnsent(t, &done)
		}
		return nil
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
			console.Number(int64(*done.Unsent))+console.Plural(*done.Unsent, " change", " changes"), console.Shell(t.Name, "replicate", done.Kept, t.folder.Dir))
	}
}
