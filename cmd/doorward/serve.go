package main

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"doorward/cmd/doorward/certificate"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/invite"
	"doorward/cmd/doorward/rehearsal"
	"doorward/cmd/doorward/screen"
	"doorward/cmd/doorward/serve"

	"github.com/spf13/cobra"
)

const serveExamples = `  # for this machine alone
  doorward serve --data data
  # for phones in the same network; it prints their addresses
  doorward serve --data data --listen 0.0.0.0:8080
  # behind a proxy on this machine, which speaks https
  doorward serve --data data --trusted-proxy 127.0.0.1 --public-url https://porta.example`

func serveCommand(t *tool, m *Main) *cobra.Command {
	c := serve.Config{Folder: t.folder, Console: t.Console, Version: versionText(), Certificate: &certificate.Files{}, Clock: m.Clock, Drain: m.Drain, Ready: m.Ready}
	cmd := &cobra.Command{
		Use: "serve", Short: "Answer requests until a signal ends it", Args: words(0), Example: serveExamples,
		Long: "Answer requests until a signal ends it, as Ctrl-C. On a laptop that has joined a centre it also keeps in step with the centre.",
		RunE: func(cmd *cobra.Command, _ []string) error { return serve.Run(cmd.Context(), c) },
	}
	f := cmd.Flags()
	f.StringVar(&c.Listen, "listen", "127.0.0.1:8080", "the address to answer at")
	must(f.SetAnnotation("listen", alsoCalled, []string{"port", "address", "bind"}))
	f.StringVar(&c.Metrics, "metrics-listen", "", "a second address, for /metrics alone")
	f.StringVar(&c.Certificate.Cert, "tls-cert", "", "a PEM file with the certificate, and those that it is signed by: the server is reached by https")
	f.StringVar(&c.Certificate.Key, "tls-key", "", "a PEM file with the certificate's key")
	f.StringSliceVar(&c.API.TrustedProxies, "trusted-proxy", nil, "the address or network of a proxy whose X-Forwarded-For, -Host and -Proto are believed")
	f.StringVar(&c.API.PublicURL, "public-url", "", "where clients reach the server, if not at the address they name")
	f.StringSliceVar(&c.API.AllowedHosts, "allowed-host", nil, "a further name that clients may use for the server")
	f.StringSliceVar(&c.API.CORSOrigins, "cors-origin", nil, "an origin whose pages may call the server")
	f.IntVar(&c.API.AuthFailures, "auth-failures", 20, "failed logins a minute and address before it has to wait; 0 = no limit")
	f.Var((*size)(&t.folder.Quota), "free-quota", "so much of the store each database of free documents may take; 0 = no limit")
	f.DurationVar(&c.Delay, "shutdown-delay", 0, "how long after a signal requests are answered still while /readyz fails, so that a proxy takes the server out of service")
	f.DurationVar(&c.DropAfter, "drop-after", 72*time.Hour, "how long after its end laptops drop an event of which the server has everything; 0 = never")
	return cmd
}

const statusExamples = `  # all of it, on one screen
  doorward status --data data
  # one event, its doors and its laptops
  doorward status --data data --event 7
  # for a script: what needs a person
  doorward status --data data --json | jq -r '.needs[].text'`

func statusCommand(t *tool) *cobra.Command {
	var event int64
	cmd := &cobra.Command{
		Use: "status", Short: "Show what needs a person, and what to do about it", Args: words(0), Example: statusExamples,
		Long: "Show on one screen what needs a person, the most urgent first, each with the command to run; below it the events, doors, laptops\n" +
			"and figures as they are. On a laptop it tells what the laptop knows of its centre. The exit code is 0 whatever needs a person.",
	}
	t.jsonFlag(cmd)
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
			return t.show(answer, &o, func() error { return t.Printf("%s\n", screen.Text(o, t.folder.Dir, t.folder.Zone)) })
		})
	}
	return cmd
}

func doorCommand(t *tool) *cobra.Command {
	var event int64
	cmd := &cobra.Command{
		Use: "door", Short: "Show a QR code that opens the door's page on a helper's phone", Args: words(0),
		Long: "Show a QR code that opens the door's page on one helper's phone. It works once, within twelve hours. The page asks for the helper's name\n" +
			"and makes a key of that name, which checks tickets of this event in and ends a day after it. Each phone needs a code of its own.\n" +
			"The sheet that tells helpers how to scan is at /door/help of the server, to print on one page.\n" +
			"A steward takes back only their own check-ins of the last minute. With --supervisor the helper takes back any.",
		Example: "  doorward door --data data --event 7",
	}
	t.jsonFlag(cmd)
	supervisor := cmd.Flags().Bool("supervisor", false, "the helper may take back any check-in, at any time")
	cmd.Flags().Int64Var(&event, "event", 0, "the event; left out: the only one that is near")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		w := invite.Wanted{Supervisor: *supervisor}
		if cmd.Flags().Changed("event") {
			w.Event = strconv.FormatInt(event, 10)
		}
		if w.Event != "" && event <= 0 {
			return console.Usage(fmt.Errorf("--event %d: the number of an event is wanted", event))
		}
		return t.with(cmd.Context(), control.Need{}, func(l *control.Line) error {
			door, err := invite.AskDoor(cmd.Context(), l, w)
			switch {
			case err != nil && w.Event != "":
				return fmt.Errorf("event %d: %w", event, err)
			case err != nil:
				return err
			}
			return t.tell(door, func() { door.Print(t.Out) })
		})
	}
	return cmd
}

func rehearseCommand(t *tool, m *Main) *cobra.Command {
	var event int64
	var helpers int
	cmd := &cobra.Command{
		Use: "rehearse", Short: "Try an event on a copy: simulated helpers scan all its tickets", Args: words(0),
		Long: "Try an event on a copy: simulated helpers scan all its tickets through the routes that phones use, as if the event began now. Some codes\n" +
			"are scanned twice, and each helper is cut off for a while. The report says what the doors would have seen, how fast, and what is missing.\n" +
			"The event itself is untouched. The exit code is 1 if something is missing.",
		Example: "  doorward rehearse --data data --event 7",
	}
	t.jsonFlag(cmd)
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
		return t.report(r, func() { r.Print(t.Out, t.folder.Zone) }, r.Well())
	}
	return cmd
}

func clockTrustCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "trust", Short: "End the doubt of the clock as it is now; look at it first", Args: words(0),
		Example: "  doorward clock trust --data data",
		Long: "End the doubt of the clock as it is now; look at it first.\n\n" +
			"A clock that is before the program's build, or over two minutes from the last measure of a peer, is doubted: tickets are\n" +
			"admitted whatever their times, and check-ins say so. If the clock is right, this ends it.",
	}
	t.jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), control.Need{}, func(l *control.Line) error {
			answer, err := l.Call(cmd.Context(), control.Post("/control/clock/trust", nil))
			if err != nil {
				return err
			}
			var clock struct{ Now time.Time }
			return t.show(answer, &clock, func() error {
				return t.Printf("the clock is trusted: %s\n", clock.Now.In(t.folder.Zone).Format("Monday, 2 January 2006, 15:04:05 MST"))
			})
		})
	}
	return cmd
}
