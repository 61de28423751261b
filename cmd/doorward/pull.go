package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"doorward/api"
	"doorward/api/pull"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/kv/backup"

	"github.com/spf13/cobra"
)

// pulling has the flags of pull.
type pulling struct {
	api.PullForm
	secretFile string
}

const pullLong = `Make the folder a mirror of another server that speaks this /v1: its groups, people, memberships, events and financial entries, and the
churches, roles, accounts … that they name. Every record keeps its id. What the key may not list is named, and the rest is read.

Run it again to go on after it was cut off, and to bring in what has changed. A record that was changed or deleted here since the last
pull is listed and stays as it is. What the source does not show any more is listed and not deleted.`

const pullExamples = `  # a mirror; the second time only changes of people and events are read
  doorward pull --data mirror --from https://centre.example.org --key dw_… --secret-file secret.txt
  # only look
  doorward pull --data mirror --from https://centre.example.org --key dw_… --secret-file secret.txt --dry-run`

func pullCommand(t *tool) *cobra.Command {
	p := &pulling{}
	cmd := &cobra.Command{
		Use: "pull", Short: "Make the folder a mirror of another server that speaks this /v1", Args: words(0), Long: pullLong, Example: pullExamples,
	}
	t.jsonFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&p.URL, "from", "", "the address of the server, as https://centre.example.org")
	f.StringVar(&p.Key, "key", "", "the key to log in with")
	f.StringVar(&p.secretFile, "secret-file", "", "a file that holds the key's secret")
	f.BoolVar(&p.Insecure, "insecure", false, "allow http:// to another machine, where everybody on the way can read all")
	f.BoolVar(&p.DryRun, "dry-run", false, "decide everything and write nothing")
	f.BoolVar(&p.Full, "full", false, "read and compare all people and events, not only those that have changed")
	f.BoolVar(&p.Moved, "moved", false, "the server of the last pull answers at another address now")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return pullFrom(cmd.Context(), t, p) }
	return cmd
}

func pullFrom(ctx context.Context, t *tool, p *pulling) error {
	ask, err := p.request()
	if err != nil {
		return console.Usage(err)
	}
	o := t.open(control.Need{Creates: true})
	if p.DryRun {
		tidy, err := o.Spare()
		if err != nil {
			return err
		}
		defer tidy()
	}
	var answer json.RawMessage
	err = control.With(ctx, o, func(l *control.Line) (err error) {
		answer, err = l.Follow(ctx, ask)
		return err
	})
	switch {
	case errors.Is(err, console.ErrStopped):
		return errors.New("stopped; what has come is kept, and the same command goes on from there")
	case err != nil:
		return err
	}
	return reportPull(t, answer)
}

// request is the request, with the secret in its body.
func (p *pulling) request() (r control.Request, err error) {
	for _, flag := range []struct{ name, value string }{{"from", p.URL}, {"key", p.Key}, {"secret-file", p.secretFile}} {
		if flag.value == "" {
			return r, fmt.Errorf("--%s is missing", flag.name)
		}
	}
	secret, err := os.ReadFile(p.secretFile)
	if err != nil {
		return r, backup.Named(p.secretFile, err)
	}
	if p.Secret = strings.TrimSpace(string(secret)); p.Secret == "" {
		return r, fmt.Errorf("%s holds no secret", p.secretFile)
	}
	return control.PostJSON("/control/pull", p.PullForm), nil
}

// reportPull prints the result. A list that was not read to its end, or a refused record, makes the command fail.
func reportPull(t *tool, answer json.RawMessage) error {
	var rep pull.Report
	if err := control.Read(answer, &rep); err != nil {
		return err
	}
	return t.report(answer, func() { printPull(t, &rep) }, rep.Complete)
}

func printPull(t *tool, rep *pull.Report) {
	if rep.DryRun {
		fmt.Fprintln(t.Out, "a dry run, nothing is written:")
	}
	w := tabwriter.NewWriter(t.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "kind\tseen\tcreated\tupdated\tunchanged\tkept\trefused\tgone\t")
	for _, k := range rep.Kinds {
		if k.NotReadable != "" && k.Seen == 0 {
			fmt.Fprintf(w, "%s\tnot readable\n", k.Kind)
			continue
		}
		fmt.Fprint(w, k.Kind)
		for _, n := range []int{k.Seen, k.Created, k.Updated, k.Unchanged, k.Kept, k.Refused, k.Gone} {
			fmt.Fprintf(w, "\t%s", console.Number(n))
		}
		fmt.Fprintf(w, "\t%s\n", readHow(k))
	}
	_ = w.Flush() // standard output keeps the error
	printPulled(t, rep)
}

// readHow returns a remark about how a list was read; "" = none.
func readHow(k *pull.Kind) string {
	switch {
	case k.Changes:
		return "changes only"
	case k.NotReadable != "":
		return "seen in other records"
	}
	return ""
}

// printPulled prints the lists, records and notes that a person should look at.
func printPulled(t *tool, rep *pull.Report) {
	for _, k := range rep.Kinds {
		if k.NotReadable != "" {
			fmt.Fprintf(t.Out, "%s: the key may not read the list: %s\n", k.Kind, k.NotReadable)
		}
		if k.Failed != "" {
			fmt.Fprintf(t.Out, "%s: not read to its end: %s\n", k.Kind, k.Failed)
		}
	}
	for _, r := range rep.Refused {
		field := ""
		if r.Field != "" {
			field = ", " + r.Field
		}
		fmt.Fprintf(t.Out, "refused %s %s%s: %s (%s)\n", console.Number(r.Count), r.Kind, field, r.Reason, idList(r.IDs, r.Count))
	}
	printRecords(t, "kept, since it was changed or deleted here", rep.Kept, rep.MoreKept)
	printRecords(t, "gone at the source, and not deleted here", rep.Gone, rep.MoreGone)
	for _, note := range rep.Notes {
		fmt.Fprintf(t.Out, "note: %s\n", note)
	}
	if rep.Stopped != "" {
		fmt.Fprintf(t.Err, "doorward: the pull ended early: %s; what has come is kept, and the same command goes on from there\n", rep.Stopped)
	}
}

func idList(ids []int64, count int) string {
	text := strings.Trim(fmt.Sprint(ids), "[]")
	if count > len(ids) {
		return "ids " + text + " …"
	}
	return "ids " + text
}

func printRecords(t *tool, what string, some []pull.Record, more int) {
	for _, r := range some {
		fmt.Fprintf(t.Out, "%s: %s %d\n", what, r.Kind, r.ID)
	}
	if more > 0 {
		fmt.Fprintf(t.Out, "%s: %s further records\n", what, console.Number(more))
	}
}
