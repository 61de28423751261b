package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"doorward/api/load/demo"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"

	"github.com/spf13/cobra"
)

func demoCommand(t *tool) *cobra.Command {
	var size string
	var seed int64
	cmd := &cobra.Command{Use: "demo", Short: "Fill an empty store with a fictional congregation", Args: cobra.NoArgs}
	asJSON := jsonFlag(cmd)
	cmd.Flags().StringVar(&size, "size", "s", "s, m, l or xl: 300, 5,000, 50,000 or 1,000,000 people")
	cmd.Flags().Int64Var(&seed, "seed", 1, "another number makes another congregation")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !slices.Contains([]string{"s", "m", "l", "xl"}, size) {
			return console.Usage(errors.New("--size: one of s, m, l and xl is wanted"))
		}
		return t.with(cmd.Context(), control.Need{Creates: true}, func(l *control.Line) error {
			q := url.Values{"size": {size}, "seed": {strconv.FormatInt(seed, 10)}}
			answer, err := l.Follow(cmd.Context(), control.Post("/control/demo", q))
			if err != nil {
				return err
			}
			var rep demo.Report
			if err := control.Read(answer, &rep); err != nil {
				return err
			}
			if *asJSON {
				return t.JSON(rep)
			}
			fmt.Fprintf(t.Out, "made %s records: %s people, %s tickets\nevent %d is open; codes to try: %s\n", console.Number(int64(rep.Records)),
				console.Number(int64(rep.People)), console.Number(int64(rep.Tickets)), rep.Event, strings.Join(rep.Codes, " "))
			return nil
		})
	}
	return cmd
}
