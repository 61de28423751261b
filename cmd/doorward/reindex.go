package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func (m *Main) reindexCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "reindex", Short: "Build the search index anew", Args: cobra.NoArgs}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return m.on(cmd.Context(), opening{settings: set, indexed: true}, func(c *control) error {
			answer, err := c.follow(cmd.Context(), request{method: http.MethodPost, path: "/control/reindex"})
			if err != nil {
				return err
			}
			var made struct{ Documents int64 }
			if err := json.Unmarshal(answer, &made); err != nil {
				return fmt.Errorf("the server's answer: %w", err)
			}
			if *asJSON {
				return m.printJSON(answer)
			}
			fmt.Fprintf(m.Stdout, "indexed %s records\n", number(made.Documents))
			return nil
		})
	}
	return cmd
}
