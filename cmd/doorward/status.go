package main

import (
	"fmt"
	"net/url"
	"strconv"

	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/screen"

	"github.com/spf13/cobra"
)

const statusExamples = `  # all of it, on one screen
  doorward status --data data
  # one event, its doors and its laptops
  doorward status --data data --event 7
  # for a script: what needs a person
  doorward status --data data --json | jq -r '.needs[].text'`

func statusCommand(t *tool) *cobra.Command {
	var event int64
	cmd := &cobra.Command{
		Use: "status", Short: "Show what needs a person, and what to do about it", Args: cobra.NoArgs, Example: statusExamples,
		Long: "Show on one screen what needs a person, the most urgent first, each with the command to run; below it the events, doors, laptops\n" +
			"and figures as they are. On a laptop it tells what the laptop knows of its centre. The exit code is 0 whatever needs a person.",
	}
	asJSON := jsonFlag(cmd)
	cmd.Flags().Int64Var(&event, "event", 0, "tell of this event alone")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		q := url.Values{}
		if cmd.Flags().Changed("event") {
			q.Set("event", strconv.FormatInt(event, 10))
		}
		return t.with(cmd.Context(), control.Need{}, func(l *control.Line) error {
			answer, err := l.Call(cmd.Context(), control.Get("/control/status", q))
			switch {
			case err != nil && q.Has("event"):
				return fmt.Errorf("event %d: %w", event, err)
			case err != nil:
				return err
			}
			var o screen.Overview
			return t.show(answer, *asJSON, &o, func() error { return t.Printf("%s\n", screen.Text(o, t.folder.Dir, t.folder.Zone)) })
		})
	}
	return cmd
}
