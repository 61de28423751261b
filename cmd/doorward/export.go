package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	formats "doorward/api/load/export"
	"time"

	"github.com/spf13/cobra"
)

func (m *Main) exportCommand(set *settings) *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use: "export [FILE]", Short: "Write all records so that import reads them, to a file or standard output", Args: cobra.MaximumNArgs(1),
		Long: "Write all records so that import reads them. The file's ending says how: .ndjson is one JSON object a line, .csv a table of one\n" +
			"kind, .xlsx a workbook with a sheet for each kind. Standard output is NDJSON.",
		Example: exportExamples,
	}
	cmd.Flags().StringVar(&kind, "kind", "", "only records of this kind")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format := ""
		if len(args) > 0 {
			if err := notOwn(args[0]); err != nil {
				return err
			}
			format = formatOf(args[0])
		}
		if format == formats.CSV && kind == "" {
			return usageError{errors.New("a .csv file holds one kind: say which with --kind; .xlsx holds all, a sheet each")}
		}
		without := "" // what is damaged
		err := m.on(cmd.Context(), opening{settings: set, reads: true}, func(c *control) error {
			write := func(w io.Writer) (err error) {
				without, err = export(cmd.Context(), c, kind, format, w)
				return err
			}
			if len(args) == 0 || args[0] == "-" {
				if c.progress.sharesTerminal(m.Stdout) {
					c.progress = &progress{}
				}
				return write(m.Stdout)
			}
			return set.writeBeside(cmd.Context(), args[0], write)
		})
		if err == nil && without != "" {
			err = errors.New(without)
		}
		return err
	}
	return cmd
}

const exportExamples = `  # everything, to keep or to import elsewhere
  doorward export --data data all.ndjson
  # everything, to look at in a spreadsheet
  doorward export --data data all.xlsx
  # the people, to change in a spreadsheet and to import again
  doorward export --data data --kind person people.csv`

// formatOf is the format that a file's ending says; a name without a known one is of NDJSON.
func formatOf(name string) string {
	if ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(name), ".")); slices.Contains(formats.Formats, ending) {
		return ending
	}
	return ""
}

// export writes the records to w, and answers what is left out, for it is damaged; "" = nothing.
func export(ctx context.Context, c *control, kind, format string, w io.Writer) (without string, err error) {
	q := url.Values{}
	if format != "" {
		q.Set("format", format)
	}
	if kind != "" {
		q.Set("kind", kind)
	}
	resp, err := c.send(ctx, request{method: http.MethodGet, path: "/control/export", query: q})
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	defer c.progress.end()
	records := &lineCounter{w: w, progress: c.progress}
	_, err = io.Copy(records, resp.Body)
	switch text := resp.Trailer.Get("X-Export-Error"); {
	case ctx.Err() != nil:
		return "", errStopped
	case records.err != nil:
		return "", records.err
	case err != nil:
		return "", errBrokeOff
	case text != "":
		return "", errors.New(lower(text))
	}
	return resp.Trailer.Get("X-Export-Left-Out"), nil
}

// writeBeside is writeFile for what comes out of a store: where the file lies on the same disk, a server's doors keep their room.
func (s *settings) writeBeside(ctx context.Context, name string, write func(io.Writer) error) error {
	if !onDiskOf(s.data, name) {
		return writeFile(ctx, name, write)
	}
	if err := s.roomBeside("an export", 0); err != nil {
		return err
	}
	return writeFile(ctx, name, func(w io.Writer) error { return write(&besideStore{w, s}) })
}

// besideStore writes to the store's own disk, and ends before a server's doors lack room there.
type besideStore struct {
	io.Writer
	set *settings
}

// Write writes, or says what room is wanted. That is no kv.ErrDiskFull, for nobody is to try the same again behind what is written.
func (s *besideStore) Write(b []byte) (int, error) {
	if err := s.set.roomBeside("an export", int64(len(b))); err != nil {
		return 0, errors.New(err.Error())
	}
	return s.Writer.Write(b)
}

// onDiskOf tells whether a file that is to be written lies on the disk of a folder. What is no file, as a pipe, takes no room.
func onDiskOf(dir, file string) bool {
	if info, err := os.Stat(file); err == nil {
		if real, err := filepath.EvalSymlinks(file); err == nil {
			file = real
		}
		if !info.Mode().IsRegular() {
			return false
		}
	}
	return sameDisk(dir, filepath.Dir(file))
}

// lineCounter writes, keeps the first error, and shows how many lines have gone by.
type lineCounter struct {
	w        io.Writer
	err      error
	progress *progress
	lines    int64
	shown    time.Time
}

// showPause is the shortest time between two numbers on the terminal.
const showPause = 100 * time.Millisecond

// Write writes what holds some lines.
func (l *lineCounter) Write(b []byte) (n int, err error) {
	if n, err = l.w.Write(b); err != nil {
		l.err = err
	}
	l.lines += int64(bytes.Count(b[:n], []byte{'\n'}))
	if now := time.Now(); now.Sub(l.shown) >= showPause {
		l.shown = now
		l.progress.show(l.lines, 0)
	}
	return n, err
}
