package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	qrcode "github.com/skip2/go-qrcode"
	"github.com/spf13/cobra"
)

// doorTicket is a ticket for a helper's phone, and where the server is reached.
type doorTicket struct {
	Ticket    string    `json:"ticket"`
	Event     int64     `json:"event"`
	Name      string    `json:"name"`
	Expires   time.Time `json:"expires_at"`
	PublicURL string    `json:"public_url"`
	Scheme    string    `json:"scheme"`
	Address   string    `json:"address"`
}

// doorLink is an address that opens the door's page on one phone, as --json prints it.
type doorLink struct {
	Event   int64     `json:"event"`
	URLs    []string  `json:"urls"`
	Expires time.Time `json:"expires_at"`
}

func (m *Main) doorCommand(set *settings) *cobra.Command {
	var event int64
	cmd := &cobra.Command{
		Use: "door", Short: "Show a QR code that opens the door's page on a helper's phone", Args: cobra.NoArgs,
		Long: "Show a QR code that opens the door's page on one helper's phone. It works once, within twelve hours. The page asks for the helper's name\n" +
			"and makes a key of that name, which checks tickets of this event in and ends a day after it. Each phone needs a code of its own.",
		Example: "  doorward door --data data --event 7",
	}
	asJSON := jsonFlag(cmd)
	cmd.Flags().Int64Var(&event, "event", 0, "the event")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if event <= 0 {
			return usageError{fmt.Errorf("--event is missing: the event of the door")}
		}
		return m.on(cmd.Context(), opening{settings: set}, func(c *control) error { return m.showDoor(cmd.Context(), c, event, *asJSON) })
	}
	return cmd
}

func (m *Main) showDoor(ctx context.Context, c *control, event int64, asJSON bool) error {
	answer, err := c.call(ctx, request{method: http.MethodPost, path: "/control/door", query: url.Values{"event": {strconv.FormatInt(event, 10)}}})
	if err != nil {
		return err
	}
	var t doorTicket
	if err := json.Unmarshal(answer, &t); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	link := doorLink{t.Event, t.urls(), t.Expires}
	if asJSON {
		return m.printJSON(link)
	}
	return m.printDoor(t, link)
}

// urls are the addresses that phones may open, the likeliest first.
func (t *doorTicket) urls() (all []string) {
	if t.PublicURL != "" {
		return []string{t.PublicURL + "/door#" + t.Ticket}
	}
	here, phones := reachedAt(t.Address)
	for _, at := range append(phones, here) {
		all = append(all, t.Scheme+"://"+at+"/door#"+t.Ticket)
	}
	return all
}

// printDoor shows the code of the first address, and all of them to type.
func (m *Main) printDoor(t doorTicket, link doorLink) error {
	fmt.Fprintf(m.Stdout, "%s. On the helper's phone, once, until %s:\n", t.Name, t.Expires.Local().Format("15:04"))
	if q, err := qrcode.New(link.URLs[0], qrcode.Medium); err == nil {
		fmt.Fprintf(m.Stdout, "\n%s\n", q.ToSmallString(false))
	}
	for _, url := range link.URLs {
		fmt.Fprintln(m.Stdout, url)
	}
	if at, err := netip.ParseAddrPort(t.Address); t.PublicURL == "" && err == nil && at.Addr().IsLoopback() {
		fmt.Fprintln(m.Stdout, "\nOnly this machine reaches the server. Start it with --listen 0.0.0.0:8080, so that phones do.")
	}
	return nil
}
