package main

import (
	"time"

	"doorward/cmd/doorward/control"

	"github.com/spf13/cobra"
)

func clockCommand(t *tool) *cobra.Command {
	return group("clock", "Say that the machine's clock is right", clockTrustCommand(t))
}

func clockTrustCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "trust", Short: "End the doubt of the clock as it is now; look at it first", Args: cobra.NoArgs,
		Long: "A clock that is before the program's build, or over two minutes from the last measure of a peer, is doubted: tickets are\n" +
			"admitted whatever their times, and check-ins say so. If the clock is right, this ends it.",
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), control.Need{}, func(l *control.Line) error {
			answer, err := l.Call(cmd.Context(), control.Post("/control/clock/trust", nil))
			if err != nil {
				return err
			}
			var clock struct{ Now time.Time }
			return t.show(answer, *asJSON, &clock, func() error {
				return t.Printf("the clock is trusted: %s\n", clock.Now.In(t.folder.Zone).Format("Monday, 2 January 2006, 15:04:05 MST"))
			})
		})
	}
	return cmd
}
