package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"doorward/api"
	"doorward/kv"
	"doorward/sync/venue"

	"github.com/spf13/cobra"
)

// backlogOf tells what a store has and its centre has not.
func backlogOf(store *kv.Store) api.Backlog {
	return func() (int, time.Time, error) { return venue.Backlog(store) }
}

const statusExamples = `  # all of it, on one screen
  doorward status --data data
  # one event, its doors and its laptops
  doorward status --data data --event 7
  # for a script: what needs a person
  doorward status --data data --json | jq -r '.needs[].text'`

func (m *Main) statusCommand(set *settings) *cobra.Command {
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
		return m.on(cmd.Context(), opening{settings: set}, func(c *control) error {
			answer, err := c.overview(cmd.Context(), q)
			switch {
			case err != nil && q.Has("event"):
				return fmt.Errorf("event %d: %w", event, err)
			case err != nil:
				return err
			case *asJSON:
				return m.printJSON(answer)
			}
			return m.printStatus(set, answer)
		})
	}
	return cmd
}

func (c *control) overview(ctx context.Context, q url.Values) (json.RawMessage, error) {
	return c.call(ctx, request{method: http.MethodGet, path: "/control/status", query: q})
}

// overview is what the handler answers, as far as it is printed.
type overview struct {
	At           time.Time
	Version      string
	Role         string
	Needs        []need
	NeedsCount   int `json:"needs_count"`
	Events       []eventState
	EventsCount  int `json:"events_count"`
	Laptops      []laptopState
	LaptopsCount int `json:"laptops_count"`
	Centre       *centreState
	Keys         []keyState
	Doubles      int `json:"double_entries"`
	Reviews      int
	Conflicts    int
	Refusals     int
	Records      map[string]int
	Tickets      map[string]int
	Erasures     struct {
		Unfinished  int
		Uncompacted int
		Since       *time.Time
	}
	Backup *struct {
		At   time.Time
		File string
	}
	Verify *struct {
		At     time.Time
		Faults int64
	}
	Certificate *struct {
		Ends time.Time `json:"expires_at"`
	}
	Store struct {
		Writable bool
		Bytes    int64  `json:"file_bytes"`
		Free     *int64 `json:"disk_free_bytes"`
	}
	Clock struct {
		Doubted  bool
		Measured *time.Time `json:"measured_at"`
		Offset   *int64     `json:"clock_offset_ms"`
	}
}

type need struct {
	Text    string
	Command []string
	On      *string
	See     *string
}

type eventState struct {
	ID         int64
	Name       string
	Start      time.Time `json:"start_datetime"`
	Expected   int
	Admitted   int
	Doubles    int `json:"double_entries"`
	Doors      []doorState
	DoorsCount int `json:"doors_count"`
}

type doorState struct {
	Name     string
	Admitted int
	LastScan time.Time `json:"last_scan"`
	Silent   bool
}

type laptopState struct {
	laptop
	Joined      *time.Time `json:"joined_at"`
	WipeOrdered *time.Time `json:"wipe_ordered_at"`
	Replaced    bool
	Needs       []string
}

type centreState struct {
	URL         string
	ID          int64
	Name        string
	LastContact *time.Time `json:"last_contact"`
	Backlog     *int
	Oldest      *time.Time `json:"oldest_backlog_at"`
	Ends        *time.Time `json:"credential_expires_at"`
	Revoked     bool
	Events      []int64
	Drops       []struct {
		EventID int64 `json:"event_id"`
		At      time.Time
	}
}

type keyState struct {
	Name    string
	Level   string
	Ends    time.Time `json:"expires_at"`
	Expired bool
}

// The screen that an overview fits on.
const (
	screenWidth = 100
	screenLines = 40
)

func (m *Main) printStatus(set *settings, answer json.RawMessage) error {
	var o overview
	if err := json.Unmarshal(answer, &o); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	s := &screen{overview: o, set: set}
	calm := s.calm()
	text := append([]string{s.head(), ""}, s.needLines(screenLines-3-len(calm))...)
	_, err := fmt.Fprintln(m.Stdout, strings.Join(append(append(text, ""), calm...), "\n"))
	return err
}
