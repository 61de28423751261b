package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func (m *Main) verifyCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "verify", Short: "Check every stored value of a store", Args: cobra.NoArgs}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return m.on(cmd.Context(), opening{set, false}, func(c *control) error {
			answer, err := c.follow(cmd.Context(), request{method: http.MethodGet, path: "/control/verify"})
			if err != nil {
				return err
			}
			return m.reportVerify(answer, *asJSON)
		})
	}
	return cmd
}

// reportVerify prints what was found; damage makes the command fail.
func (m *Main) reportVerify(answer json.RawMessage, asJSON bool) error {
	var found struct {
		Rows, Records, Damaged int64
		Damage                 []string
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	switch {
	case asJSON:
		m.printJSON(answer)
	case found.Damaged == 0:
		fmt.Fprintf(m.Stdout, "no damage: %s values, %s records\n", number(found.Rows), number(found.Records))
	default:
		for _, d := range found.Damage {
			fmt.Fprintln(m.Stdout, d)
		}
		fmt.Fprintf(m.Stdout, "damaged: %s of %s values\n", number(found.Damaged), number(found.Rows))
	}
	if found.Damaged > 0 {
		return errSaid
	}
	return nil
}
