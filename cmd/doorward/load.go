package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"doorward/api/load"

	"github.com/spf13/cobra"
)

// importing is what import is told.
type importing struct {
	kind   string
	event  int64
	maps   []string
	dryRun bool
}

func (m *Main) importCommand(set *settings) *cobra.Command {
	var im importing
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Read records from a CSV, NDJSON or XLSX file; - is standard input", Args: cobra.ExactArgs(1),
	}
	asJSON := jsonFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&im.kind, "kind", "", "what the rows are: ticket, person …; an export says it itself")
	f.Int64Var(&im.event, "event", 0, "the event of tickets that name none")
	f.StringArrayVar(&im.maps, "map", nil, "field=column,…: which column holds a field, by its title, Title#2 or #3")
	f.BoolVar(&im.dryRun, "dry-run", false, "decide everything and write nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body, size, err := m.source(args[0])
		if err != nil {
			return usageError{err}
		}
		defer func() { _ = body.Close() }() // it was only read
		o, tidy, err := trial(opening{set, true}, im.dryRun)
		if err != nil {
			return err
		}
		defer tidy()
		return m.on(cmd.Context(), o, func(c *control) error {
			r := request{method: http.MethodPost, path: "/control/import", query: im.query(), body: body, size: size}
			answer, err := c.follow(cmd.Context(), r)
			if errors.Is(err, errStopped) {
				return errors.New("stopped; what was imported so far is kept, and the same command goes on from there")
			}
			if err != nil {
				return err
			}
			return m.reportImport(answer, *asJSON)
		})
	}
	return cmd
}

// trial lets a dry run for a folder without a store have one elsewhere, until tidy is called.
func trial(o opening, dryRun bool) (_ opening, tidy func(), err error) {
	if !dryRun || hasStore(o.data) {
		return o, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "doorward")
	set := *o.settings
	set.data = dir
	return opening{&set, true}, func() { _ = os.RemoveAll(dir) }, err // what stays there is an empty store
}

// source opens what is imported.
func (m *Main) source(name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(m.Stdin), 0, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder", name)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func (im *importing) query() url.Values {
	q := url.Values{}
	if im.kind != "" {
		q.Set("kind", im.kind)
	}
	if im.event != 0 {
		q.Set("event", strconv.FormatInt(im.event, 10))
	}
	if im.dryRun {
		q.Set("dry_run", "true")
	}
	for _, text := range im.maps {
		for _, pair := range pairs(text) {
			q.Add("map", pair)
		}
	}
	return q
}

// pairs parts "a=b,c=d"; a comma in a column's title is one without an = behind it.
func pairs(text string) (out []string) {
	for part := range strings.SplitSeq(text, ",") {
		if len(out) > 0 && !strings.Contains(part, "=") {
			out[len(out)-1] += "," + part
			continue
		}
		out = append(out, part)
	}
	return out
}

// reportImport prints what became of a file's rows; rows refused make the command fail.
func (m *Main) reportImport(answer json.RawMessage, asJSON bool) error {
	var rep struct {
		Created, Updated, Unchanged int64
		Rejected                    []load.Rejection
		Ignored                     []string `json:"ignored_columns"`
		Warnings                    []string
	}
	if err := json.Unmarshal(answer, &rep); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	if asJSON {
		if err := m.printJSON(answer); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(m.Stdout, "created %s, updated %s, unchanged %s, rejected %s\n",
			number(rep.Created), number(rep.Updated), number(rep.Unchanged), number(int64(len(rep.Rejected))))
		for _, r := range rep.Rejected {
			column := ""
			if r.Column != "" {
				column = ", column " + r.Column
			}
			fmt.Fprintf(m.Stdout, "line %d%s: %s\n", r.Line, column, r.Reason)
		}
		if len(rep.Ignored) > 0 {
			fmt.Fprintf(m.Stdout, "columns that were not read: %s\n", strings.Join(rep.Ignored, ", "))
		}
		for _, w := range rep.Warnings {
			fmt.Fprintf(m.Stdout, "note: %s\n", w)
		}
	}
	if len(rep.Rejected) > 0 {
		return errSaid
	}
	return nil
}

func (m *Main) exportCommand(set *settings) *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use: "export [FILE]", Short: "Write all records as NDJSON that import reads, to a file or standard output", Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().StringVar(&kind, "kind", "", "only records of this kind")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return m.on(cmd.Context(), opening{set, false}, func(c *control) error {
			write := func(w io.Writer) error { return export(cmd.Context(), c, kind, w) }
			if len(args) == 0 || args[0] == "-" {
				return write(m.Stdout)
			}
			return writeFile(args[0], write)
		})
	}
	return cmd
}

func export(ctx context.Context, c *control, kind string, w io.Writer) error {
	q := url.Values{}
	if kind != "" {
		q.Set("kind", kind)
	}
	resp, err := c.send(ctx, request{method: http.MethodGet, path: "/control/export", query: q})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	if _, err := io.Copy(w, resp.Body); err != nil {
		if ctx.Err() != nil {
			return errStopped
		}
		return err
	}
	if text := resp.Trailer.Get("X-Export-Error"); text != "" {
		return errors.New(lower(text))
	}
	return nil
}

// writeFile makes a file that is whole or not there: a temporary name, fsync, rename, fsync of the folder.
func writeFile(name string, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(name)
	tmp, err := os.CreateTemp(dir, ".doorward-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // the first error is the one to tell
		}
	}()
	if err = errors.Join(write(tmp), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), name); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (m *Main) demoCommand(set *settings) *cobra.Command {
	var size string
	var seed int64
	cmd := &cobra.Command{Use: "demo", Short: "Fill an empty store with a fictional congregation", Args: cobra.NoArgs}
	asJSON := jsonFlag(cmd)
	cmd.Flags().StringVar(&size, "size", "s", "s, m, l or xl: 300, 5,000, 50,000 or 1,000,000 people")
	cmd.Flags().Int64Var(&seed, "seed", 1, "another number makes another congregation")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return m.on(cmd.Context(), opening{set, true}, func(c *control) error {
			q := url.Values{"size": {size}, "seed": {strconv.FormatInt(seed, 10)}}
			answer, err := c.follow(cmd.Context(), request{method: http.MethodPost, path: "/control/demo", query: q})
			if err != nil {
				return err
			}
			var rep load.DemoReport
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
