package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"doorward/api/load/demo"

	"github.com/spf13/cobra"
)

func (m *Main) demoCommand(set *settings) *cobra.Command {
	var size string
	var seed int64
	cmd := &cobra.Command{Use: "demo", Short: "Fill an empty store with a fictional congregation", Args: cobra.NoArgs}
	asJSON := jsonFlag(cmd)
	cmd.Flags().StringVar(&size, "size", "s", "s, m, l or xl: 300, 5,000, 50,000 or 1,000,000 people")
	cmd.Flags().Int64Var(&seed, "seed", 1, "another number makes another congregation")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !slices.Contains([]string{"s", "m", "l", "xl"}, size) {
			return usageError{errors.New("--size: one of s, m, l and xl is wanted")}
		}
		return m.on(cmd.Context(), opening{settings: set, makes: true}, func(c *control) error {
			q := url.Values{"size": {size}, "seed": {strconv.FormatInt(seed, 10)}}
			answer, err := c.follow(cmd.Context(), request{method: http.MethodPost, path: "/control/demo", query: q})
			if err != nil {
				return err
			}
			var rep demo.Report
			if err := json.Unmarshal(answer, &rep); err != nil {
				return fmt.Errorf("the server's answer: %w", err)
			}
			if *asJSON {
				return m.printJSON(rep)
			}
			fmt.Fprintf(m.Stdout, "made %s records: %s people, %s tickets\nevent %d is open; codes to try: %s\n", number(int64(rep.Records)),
				number(int64(rep.People)), number(int64(rep.Tickets)), rep.Event, strings.Join(rep.Codes, " "))
			return nil
		})
	}
	return cmd
}
