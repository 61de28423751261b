package main

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/serve"

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
	name    string    // of the event
	local   bool      // only this machine reaches the server
}

func doorCommand(t *tool) *cobra.Command {
	var event int64
	cmd := &cobra.Command{
		Use: "door", Short: "Show a QR code that opens the door's page on a helper's phone", Args: cobra.NoArgs,
		Long: "Show a QR code that opens the door's page on one helper's phone. It works once, within twelve hours. The page asks for the helper's name\n" +
			"and makes a key of that name, which checks tickets of this event in and ends a day after it. Each phone needs a code of its own.\n" +
			"A steward takes back the own check-ins of the last minute. With --supervisor the helper takes back any.",
		Example: "  doorward door --data data --event 7",
	}
	asJSON := jsonFlag(cmd)
	supervisor := cmd.Flags().Bool("supervisor", false, "the helper may take back any check-in, at any time")
	cmd.Flags().Int64Var(&event, "event", 0, "the event")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if event <= 0 {
			return console.Usage(fmt.Errorf("--event is missing: the event of the door"))
		}
		return t.with(cmd.Context(), control.Need{}, func(l *control.Line) error {
			link, err := askDoor(cmd.Context(), l, event, *supervisor)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return t.JSON(link)
			}
			printDoor(t.Out, link)
			return nil
		})
	}
	return cmd
}

// askDoor asks for a ticket and makes the addresses that open the door's page with it.
func askDoor(ctx context.Context, l *control.Line, event int64, supervisor bool) (link doorLink, err error) {
	asked := url.Values{"event": {strconv.FormatInt(event, 10)}}
	if supervisor {
		asked.Set("role", "supervisor")
	}
	t, err := control.Ask[doorTicket](ctx, l, control.Post("/control/door", asked))
	if err != nil {
		return link, err
	}
	at, err := netip.ParseAddrPort(t.Address)
	return doorLink{t.Event, t.urls(), t.Expires, t.Name, t.PublicURL == "" && err == nil && at.Addr().IsLoopback()}, nil
}

// urls are the addresses that phones may open, the likeliest first.
func (t *doorTicket) urls() (all []string) {
	if t.PublicURL != "" {
		return []string{t.PublicURL + "/door#" + t.Ticket}
	}
	here, phones := serve.Addresses(t.Address)
	for _, at := range append(phones, here) {
		all = append(all, t.Scheme+"://"+at+"/door#"+t.Ticket)
	}
	return all
}

// printDoor shows the code of the first address, and all of them to type.
func printDoor(w io.Writer, link doorLink) {
	fmt.Fprintf(w, "%s. On the helper's phone, once, until %s:\n", link.name, link.Expires.Local().Format("15:04"))
	if q, err := qrcode.New(link.URLs[0], qrcode.Medium); err == nil {
		fmt.Fprintf(w, "\n%s\n", q.ToSmallString(false))
	}
	for _, url := range link.URLs {
		fmt.Fprintln(w, url)
	}
	if link.local {
		fmt.Fprintln(w, "\nOnly this machine reaches the server. Start it with --listen 0.0.0.0:8080, so that phones do.")
	}
}
