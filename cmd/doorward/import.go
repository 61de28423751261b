package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
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
		Use: "import FILE", Short: "Read records from a CSV, NDJSON or XLSX file; - is standard input", Args: words(1),
	}
	asJSON := jsonFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&im.kind, "kind", "", "what the rows are: ticket, person …; an export says it itself")
	f.Int64Var(&im.event, "event", 0, "the event of tickets that name none")
	f.StringArrayVar(&im.maps, "map", nil, "field=column,…: which column holds a field, by its title, Title#2 or #3")
	f.BoolVar(&im.dryRun, "dry-run", false, "decide everything and write nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := m.source(args[0])
		if err != nil {
			return usageError{err}
		}
		defer func() { _ = file.Close() }() // it was only read
		answer, err := m.runImport(cmd.Context(), opening{settings: set, makes: true}, im, file)
		if err != nil {
			return err
		}
		return m.reportImport(answer, *asJSON)
	}
	return cmd
}

func (m *Main) runImport(ctx context.Context, o opening, im importing, f *source) (answer json.RawMessage, err error) {
	switch {
	case hasStore(o.data):
	case im.dryRun:
		if err := m.checkStore(o.settings); err != nil {
			return nil, err
		}
		var tidy func()
		if o, tidy, err = trial(o); err != nil {
			return nil, err
		}
		defer tidy()
	default:
		if err := m.rehearse(ctx, o, func(c *control) error { return c.tryImport(ctx, im, f) }); err != nil {
			return nil, err
		}
	}
	err = m.on(ctx, o, func(c *control) error {
		answer, err = c.follow(ctx, im.request(f, f.size))
		return err
	})
	if errors.Is(err, errStopped) {
		err = errors.New("stopped; what was sent so far is kept or still being written, and the same command goes on from there")
	}
	return answer, err
}

// tryImport finds what is wrong with an import as a whole. Of a file that is not small it looks at the flags alone.
func (c *control) tryImport(ctx context.Context, im importing, f *source) error {
	im.dryRun = true
	if f.start == nil {
		_, err := c.follow(ctx, im.request(strings.NewReader(""), 0))
		if usage := new(usageError); errors.As(err, usage) {
			return err
		}
		return nil // that nothing is no file of records, we know
	}
	_, err := c.follow(ctx, im.request(bytes.NewReader(f.start), f.size))
	return err
}

// source is what is imported.
type source struct {
	io.ReadCloser
	size  int64  // 0 = unknown
	start []byte // all of a small file
}

// smallFile is the size up to which a file is read twice.
const smallFile = 4 << 20

// source opens what is imported.
func (m *Main) source(name string) (*source, error) {
	if name == "-" {
		return &source{ReadCloser: io.NopCloser(m.Stdin)}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	s := &source{ReadCloser: f}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = fmt.Errorf("%s is a folder", name)
	case info.Mode().IsRegular() && info.Size() <= smallFile:
		s.size, s.start = info.Size(), make([]byte, info.Size())
		_, err = f.ReadAt(s.start, 0)
	default:
		s.size = info.Size()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

func (im *importing) request(body io.Reader, size int64) request {
	return request{method: http.MethodPost, path: "/control/import", query: im.query(), body: body, size: size}
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
	if len(im.maps) > 0 {
		q["map"] = im.maps
	}
	return q
}

// reportImport prints what became of a file's rows; rows refused make the command fail.
func (m *Main) reportImport(answer json.RawMessage, asJSON bool) error {
	var rep struct {
		Created, Updated, Unchanged int64
		Rejected                    []load.Rejection
		More                        int64    `json:"rejected_more"`
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
			number(rep.Created), number(rep.Updated), number(rep.Unchanged), number(int64(len(rep.Rejected))+rep.More))
		for _, r := range rep.Rejected {
			column := ""
			if r.Column != "" {
				column = ", column " + r.Column
			}
			fmt.Fprintf(m.Stdout, "line %d%s: %s\n", r.Line, column, r.Reason)
		}
		if rep.More > 0 {
			fmt.Fprintf(m.Stdout, "and %s further rows\n", number(rep.More))
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
