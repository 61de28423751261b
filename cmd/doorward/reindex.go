package main

import (
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"

	"github.com/spf13/cobra"
)

func reindexCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{Use: "reindex", Short: "Build the search index again", Args: cobra.NoArgs}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), control.Need{Indexed: true}, func(l *control.Line) error {
			answer, err := l.Follow(cmd.Context(), control.Post("/control/reindex", nil))
			if err != nil {
				return err
			}
			var made struct{ Documents int64 }
			return t.show(answer, *asJSON, &made, func() error { return t.Printf("indexed %s records\n", console.Number(made.Documents)) })
		})
	}
	return cmd
}
