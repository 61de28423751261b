package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func (m *Main) clockCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use: "clock", Short: "Say that the machine's clock is right", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(m.clockTrustCommand(set))
	return cmd
}

func (m *Main) clockTrustCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use: "trust", Short: "End the doubt of the clock as it is now; look at it first", Args: cobra.NoArgs,
		Long: "A clock that is before the program's build, or over two minutes from the last measure of a peer, is doubted: tickets are\n" +
			"admitted whatever their times, and check-ins say so. If the clock is right, this ends it.",
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return m.on(cmd.Context(), opening{settings: set}, func(c *control) error {
			answer, err := c.call(cmd.Context(), request{method: http.MethodPost, path: "/control/clock/trust"})
			if err != nil {
				return err
			}
			if *asJSON {
				return m.printJSON(answer)
			}
			var clock struct{ Now time.Time }
			if err := json.Unmarshal(answer, &clock); err != nil {
				return fmt.Errorf("the server's answer: %w", err)
			}
			fmt.Fprintf(m.Stdout, "the clock is trusted: %s\n", clock.Now.In(set.zone).Format("Monday, 2 January 2006, 15:04:05 MST"))
			return nil
		})
	}
	return cmd
}
