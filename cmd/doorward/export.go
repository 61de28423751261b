package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	formats "doorward/api/load/export"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/folder"

	"github.com/spf13/cobra"
)

func exportCommand(t *tool) *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use: "export [FILE]", Short: "Write all records so that import reads them, to a file or standard output", Args: words(0, 1),
		Long: "Write all records so that import reads them. The file's ending says how: .ndjson is one JSON object a line, .csv a table of one\n" +
			"kind, .xlsx a workbook with a sheet for each kind. Standard output is NDJSON.",
		Example: exportExamples,
	}
	certain := certainFlag(cmd)
	cmd.Flags().StringVar(&kind, "kind", "", "only records of this kind")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format := ""
		if len(args) > 0 {
			if err := folder.CheckOutput(args[0]); err != nil {
				return err
			}
			if end := strings.ToLower(filepath.Ext(args[0])); slices.Contains(otherSheets, end) {
				return console.Usage(fmt.Errorf("no %s file can be written: spreadsheet programs open .xlsx, and .csv of one --kind", end))
			}
			format = formatOf(args[0])
		}
		if format == formats.CSV && kind == "" {
			return console.Usage(errors.New("a .csv file holds one kind: say which with --kind; .xlsx holds all, a sheet each"))
		}
		q := url.Values{}
		for name, value := range map[string]string{"kind": kind, "format": format} {
			if value != "" {
				q.Set(name, value)
			}
		}
		without := "" // what is damaged
		err := t.with(cmd.Context(), control.Need{Reads: true, Certain: *certain}, func(l *control.Line) error {
			write := func(w io.Writer) (err error) {
				without, err = export(cmd.Context(), l, q, w)
				return err
			}
			if len(args) == 0 || args[0] == "-" {
				if l.Progress.Shares(t.Out) {
					l.Progress = &console.Progress{}
				}
				return write(t.Exact())
			}
			doubt, err := t.folder.Write(cmd.Context(), args[0], write)
			if doubt != "" {
				t.Warn("%s", doubt)
			}
			return console.Stopped(cmd.Context(), err)
		})
		if err == nil && without != "" {
			err = errors.New(without)
		}
		return err
	}
	return cmd
}

// certainFlag is for commands that take out of a store what can be saved.
func certainFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("certain", false, "of a store whose log is missing or damaged, take what is certain, and say what may be missing")
}

const exportExamples = `  # everything, to keep or to import elsewhere
  doorward export --data data all.ndjson
  # everything, to look at in a spreadsheet
  doorward export --data data all.xlsx
  # the people, to change in a spreadsheet and to import again
  doorward export --data data --kind person people.csv
  # what is certain of a store of which only doorward.db is left
  doorward export --data rescued --certain all.ndjson`

// otherSheets are the endings of files that only a spreadsheet program writes. One that held NDJSON would look broken there.
var otherSheets = []string{".xls", ".xlsm", ".xlsb", ".ods", ".tsv"}

// formatOf returns the format by a file's ending; "" = NDJSON.
func formatOf(name string) string {
	if ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(name), ".")); slices.Contains(formats.Formats, ending) {
		return ending
	}
	return ""
}

// export writes the records, and returns a sentence about the damaged ones that it leaves out; "" = none.
func export(ctx context.Context, l *control.Line, q url.Values, w io.Writer) (without string, err error) {
	resp, err := l.Send(ctx, control.Get("/control/export", q))
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	defer l.Progress.End()
	records := console.CountLines(w, l.Progress)
	_, err = io.Copy(records, resp.Body)
	switch text := resp.Trailer.Get("X-Export-Error"); {
	case ctx.Err() != nil:
		return "", console.ErrStopped
	case records.Err() != nil:
		return "", records.Err()
	case err != nil:
		return "", control.ErrBrokeOff
	case text != "":
		return "", errors.New(control.Lower(text))
	}
	return resp.Trailer.Get("X-Export-Left-Out"), nil
}
