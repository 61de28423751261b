package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"

	"doorward/api/pull"
	"doorward/sync/dial"

	"github.com/spf13/cobra"
)

// pulling is what pull is told.
type pulling struct {
	from       string
	key        string
	secretFile string
	insecure   bool
	dryRun     bool
	full       bool
	moved      bool
	asJSON     *bool
}

const pullLong = `Make the folder a mirror of another server that speaks this /v1: its groups, people, memberships, events and financial entries, and the
churches, roles, accounts … that they name. Every record keeps its id. What the key may not list is named, and the rest is read.

Run it again to go on after it was cut off, and to bring in what has changed. A record that was changed or deleted here since the last
pull is listed and stays as it is. What the source does not show any more is listed and not deleted.`

const pullExamples = `  # a mirror; the second time only changes of people and events are read
  doorward pull --data mirror --from https://centre.example.org --key dw_… --secret-file secret.txt
  # only look
  doorward pull --data mirror --from https://centre.example.org --key dw_… --secret-file secret.txt --dry-run`

func (m *Main) pullCommand(set *settings) *cobra.Command {
	p := &pulling{}
	cmd := &cobra.Command{
		Use: "pull", Short: "Make the folder a mirror of another server that speaks this /v1", Args: cobra.NoArgs, Long: pullLong, Example: pullExamples,
	}
	p.asJSON = jsonFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&p.from, "from", "", "the address of the server, as https://centre.example.org")
	f.StringVar(&p.key, "key", "", "the key to log in with")
	f.StringVar(&p.secretFile, "secret-file", "", "a file that holds the key's secret")
	f.BoolVar(&p.insecure, "insecure", false, "allow http:// to another machine, where everybody on the way can read all")
	f.BoolVar(&p.dryRun, "dry-run", false, "decide everything and write nothing")
	f.BoolVar(&p.full, "full", false, "read and compare all people and events, not only those that have changed")
	f.BoolVar(&p.moved, "moved", false, "the server of the last pull answers at another address now")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return m.pull(cmd.Context(), set, p) }
	return cmd
}

func (m *Main) pull(ctx context.Context, set *settings, p *pulling) error {
	body, err := p.body()
	if err != nil {
		return usageError{err}
	}
	o := opening{settings: set, makes: true}
	if p.dryRun && !hasStore(o.data) {
		if err := m.checkStore(o.settings); err != nil {
			return err
		}
		trialled, tidy, err := trial(o)
		if err != nil {
			return err
		}
		defer tidy()
		o = trialled
	}
	var answer json.RawMessage
	err = m.on(ctx, o, func(c *control) (err error) {
		answer, err = c.follow(ctx, request{method: http.MethodPost, path: "/control/pull", body: bytes.NewReader(body), size: int64(len(body)), json: true})
		return err
	})
	switch {
	case errors.Is(err, errStopped):
		return errors.New("stopped; what has come is kept, and the same command goes on from there")
	case err != nil:
		return err
	}
	return m.reportPull(answer, p)
}

// body is the request: the secret goes with it, and nowhere else.
func (p *pulling) body() ([]byte, error) {
	for _, flag := range []struct{ name, value string }{{"from", p.from}, {"key", p.key}, {"secret-file", p.secretFile}} {
		if flag.value == "" {
			return nil, fmt.Errorf("--%s is missing", flag.name)
		}
	}
	secret, err := os.ReadFile(p.secretFile)
	if err != nil {
		return nil, named(p.secretFile, err)
	}
	text := strings.TrimSpace(string(secret))
	if text == "" {
		return nil, fmt.Errorf("%s holds no secret", p.secretFile)
	}
	return json.Marshal(map[string]any{
		"url": p.from, "key": p.key, "secret": text, "insecure": p.insecure, "dry_run": p.dryRun, "full": p.full, "moved": p.moved,
	})
}

// reportPull prints what came. What was not read to its end, or refused, makes the command fail.
func (m *Main) reportPull(answer json.RawMessage, p *pulling) error {
	var rep pull.Report
	if err := json.Unmarshal(answer, &rep); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	if *p.asJSON {
		if err := m.printJSON(answer); err != nil {
			return err
		}
	} else if err := m.printPull(&rep); err != nil {
		return err
	}
	if !rep.Complete {
		return errSaid
	}
	return nil
}

func (m *Main) printPull(rep *pull.Report) error {
	if rep.DryRun {
		fmt.Fprintln(m.Stdout, "a dry run, nothing is written:")
	}
	w := tabwriter.NewWriter(m.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "kind\tseen\tcreated\tupdated\tunchanged\tkept\trefused\tgone\t")
	for _, k := range rep.Kinds {
		if k.NotReadable != "" && k.Seen == 0 {
			fmt.Fprintf(w, "%s\tnot readable\n", k.Kind)
			continue
		}
		fmt.Fprint(w, k.Kind)
		for _, n := range []int{k.Seen, k.Created, k.Updated, k.Unchanged, k.Kept, k.Refused, k.Gone} {
			fmt.Fprintf(w, "\t%s", number(int64(n)))
		}
		fmt.Fprintf(w, "\t%s\n", readHow(k))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	m.printPulled(rep)
	return nil
}

// readHow says of a list what its numbers do not.
func readHow(k *pull.Kind) string {
	switch {
	case k.Changes:
		return "changes only"
	case k.NotReadable != "":
		return "seen in other records"
	}
	return ""
}

// printPulled prints what needs a look.
func (m *Main) printPulled(rep *pull.Report) {
	for _, k := range rep.Kinds {
		if k.NotReadable != "" {
			fmt.Fprintf(m.Stdout, "%s: the key may not read the list: %s\n", k.Kind, k.NotReadable)
		}
		if k.Failed != "" {
			fmt.Fprintf(m.Stdout, "%s: not read to its end: %s\n", k.Kind, k.Failed)
		}
	}
	for _, r := range rep.Refused {
		field := ""
		if r.Field != "" {
			field = ", " + r.Field
		}
		fmt.Fprintf(m.Stdout, "refused %s %s%s: %s (%s)\n", number(int64(r.Count)), r.Kind, field, r.Reason, idList(r.IDs, r.Count))
	}
	m.printRecords("kept, since it was changed or deleted here", rep.Kept, rep.MoreKept)
	m.printRecords("gone at the source, and not deleted here", rep.Gone, rep.MoreGone)
	for _, note := range rep.Notes {
		fmt.Fprintf(m.Stdout, "note: %s\n", note)
	}
	if rep.Stopped != "" {
		fmt.Fprintf(m.Stderr, "doorward: the pull ended early: %s; what has come is kept, and the same command goes on from there\n", rep.Stopped)
	}
}

func idList(ids []int64, count int) string {
	text := strings.Trim(fmt.Sprint(ids), "[]")
	if count > len(ids) {
		return "ids " + text + " …"
	}
	return "ids " + text
}

func (m *Main) printRecords(what string, some []pull.Record, more int) {
	for _, r := range some {
		fmt.Fprintf(m.Stdout, "%s: %s %d\n", what, r.Kind, r.ID)
	}
	if more > 0 {
		fmt.Fprintf(m.Stdout, "%s: %s further records\n", what, number(int64(more)))
	}
}

// outbound is a client for other servers.
func outbound(loopback bool) *http.Client {
	if loopback {
		return dial.NewClient(dial.Loopback)
	}
	return dial.NewClient(dial.Anywhere)
}
