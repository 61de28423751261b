package main

import (
	"fmt"
	"strconv"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/invite"

	"github.com/spf13/cobra"
)

func doorCommand(t *tool) *cobra.Command {
	var event string
	cmd := &cobra.Command{
		Use: "door", Short: "Show a QR code that opens the door's page on a helper's phone", Args: cobra.NoArgs,
		Long: "Show a QR code that opens the door's page on one helper's phone. It works once, within twelve hours. The page asks for the helper's name\n" +
			"and makes a key of that name, which checks tickets of this event in and ends a day after it. Each phone needs a code of its own.\n" +
			"The sheet that tells helpers how to scan is at /door/help of the server, to print on one page.\n" +
			"A steward takes back the own check-ins of the last minute. With --supervisor the helper takes back any.",
		Example: "  doorward door --data data --event 7",
	}
	asJSON := jsonFlag(cmd)
	supervisor := cmd.Flags().Bool("supervisor", false, "the helper may take back any check-in, at any time")
	cmd.Flags().StringVar(&event, "event", "", "the event; left out: the only one that is near")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if id, err := strconv.ParseInt(event, 10, 64); event != "" && (err != nil || id <= 0) {
			return console.Usage(fmt.Errorf("--event %s: the number of an event is wanted", event))
		}
		return t.with(cmd.Context(), control.Need{}, func(l *control.Line) error {
			door, err := invite.AskDoor(cmd.Context(), l, invite.Wanted{Event: event, Supervisor: *supervisor})
			switch {
			case err != nil:
				return err
			case *asJSON:
				return t.JSON(door)
			}
			door.Print(t.Out)
			return nil
		})
	}
	return cmd
}
