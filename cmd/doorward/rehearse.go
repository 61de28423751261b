package main

import (
	"fmt"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/rehearsal"

	"github.com/spf13/cobra"
)

func rehearseCommand(t *tool, m *Main) *cobra.Command {
	var event int64
	var helpers int
	cmd := &cobra.Command{
		Use: "rehearse", Short: "Try an event on a copy: simulated helpers scan all its tickets", Args: cobra.NoArgs,
		Long: "Try an event on a copy: simulated helpers scan all its tickets through the routes that phones use, as if the event began now. Some codes\n" +
			"are scanned twice, and each helper is cut off for a while. The report says what the doors would have seen, how fast, and what is missing.\n" +
			"The event itself is untouched. The exit code is 1 if something is missing.",
		Example: "  doorward rehearse --data data --event 7",
	}
	asJSON := jsonFlag(cmd)
	cmd.Flags().Int64Var(&event, "event", 0, "the event")
	cmd.Flags().IntVar(&helpers, "helpers", 4, "how many helpers scan at once")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case event <= 0:
			return console.Usage(fmt.Errorf("--event is missing: the event to rehearse"))
		case helpers < 1 || helpers > rehearsal.MaxHelpers:
			return console.Usage(fmt.Errorf("--helpers %d: a number from 1 to %d is wanted", helpers, rehearsal.MaxHelpers))
		}
		r, err := rehearsal.Run(cmd.Context(), rehearsal.Config{Opening: t.open(control.Need{}), Event: event, Helpers: helpers, Local: m.Zone})
		if err != nil {
			return err
		}
		if *asJSON {
			if err := t.JSON(r); err != nil {
				return err
			}
		} else {
			r.Print(t.Out, t.folder.Zone)
		}
		if !r.Well() {
			return console.ErrSaid
		}
		return nil
	}
	return cmd
}
