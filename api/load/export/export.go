package export

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/kinds"
	"doorward/kv/auth"
	"doorward/kv/feed"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/xuri/excelize/v2"
)

// Write writes every record of a kind, or of all importable kinds, as a principal sees them, so that Import reads them into an empty store: each
// kind after those it refers to. NDJSON is one object a line; the first member names its kind.
// A *feed.LeftOut comes after all has been written that is sound.
func Write(ctx context.Context, w io.Writer, o Options) error {
	switch o.Format {
	case "", NDJSON:
		return exportNDJSON(ctx, w, o)
	case CSV:
		return exportCSV(ctx, w, o)
	case XLSX:
		return exportXLSX(ctx, w, o)
	}
	return fmt.Errorf("%w: there is no format “%s”; the formats are %s", kinds.ErrUsage, o.Format, strings.Join(Formats, ", "))
}

// bufferSize is how much of an export is put together before it is written.
const bufferSize = 64 << 10

// Options say what to export.
type Options struct {
	Log    *feed.Log
	Who    auth.Principal
	Kind   string // "" = all
	Format string // "" = NDJSON
}

// exported are the kinds that an export holds.
func exported(o Options) ([]kinds.Form, error) {
	if o.Kind == "" {
		return kinds.All(), nil
	}
	f, err := kinds.Of(o.Kind)
	return []kinds.Form{f}, err
}

func exportNDJSON(ctx context.Context, w io.Writer, o Options) error {
	list, err := exported(o)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(w, bufferSize)
	var out leftOut
	for _, f := range list {
		head := `{"` + kinds.Kind + `":"` + f.Kind.Name + `",`
		err := o.Log.Export(o.Who, f.Kind, func(json []byte) error {
			_, _ = buffered.WriteString(head) // a failure stays with the writer
			_, _ = buffered.Write(json[1:])
			return cmp.Or(ctx.Err(), buffered.WriteByte('\n'))
		})
		if err := out.unless(err); err != nil {
			return fmt.Errorf("export %s: %w", f.Kind.Name, err)
		}
	}
	return cmp.Or(buffered.Flush(), out.err())
}

// leftOut collects what is left out of an export.
type leftOut struct{ feed.LeftOut }

// unless collects an error that says what is left out of a kind, and answers any other.
func (l *leftOut) unless(err error) error {
	if out := (*feed.LeftOut)(nil); errors.As(err, &out) {
		l.Add(out)
		return nil
	}
	return err
}

// err answers a *feed.LeftOut, or nil where nothing is left out.
func (l *leftOut) err() error {
	if l.Count == 0 {
		return nil
	}
	return &l.LeftOut
}

// The formats of an export. A table has a column for the record's kind, one for its id, and one for each field that import reads.
const (
	NDJSON = "ndjson"
	CSV    = "csv"
	XLSX   = "xlsx"
)

// Formats are all of them.
var Formats = []string{NDJSON, CSV, XLSX}

// flatColumns are the columns of a kind's table.
func flatColumns(f kinds.Form) []string {
	columns := []string{kinds.Kind, kinds.ID}
	for i := range f.Table.Fields {
		if name := f.Table.Fields[i].Name; name != kinds.ID && f.Has(name) {
			columns = append(columns, name)
		}
	}
	if f.Field(kinds.ExternalID) == nil {
		columns = append(columns, kinds.ExternalID)
	}
	return columns
}

// flatRows calls fn with the cells of each record of a kind.
func flatRows(ctx context.Context, o Options, f kinds.Form, fn func(row []string) error) error {
	columns := flatColumns(f)
	return o.Log.Export(o.Who, f.Kind, func(body []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var values map[string]jsontext.Value
		if err := json.Unmarshal(body, &values); err != nil {
			return fmt.Errorf("%s: %w", f.Kind.Name, err)
		}
		row := make([]string, len(columns))
		row[0] = f.Kind.Name
		for i, name := range columns[1:] {
			row[i+1] = cells.FlatCell(f.Field(name), values[name])
		}
		return fn(row)
	})
}

// exportCSV writes the records of one kind, in UTF-8 with the mark by which spreadsheets know it.
func exportCSV(ctx context.Context, w io.Writer, o Options) error {
	if o.Kind == "" {
		return fmt.Errorf("%w: a .csv file holds one kind: say which with --kind; .xlsx holds all, a sheet each", kinds.ErrUsage)
	}
	f, err := kinds.Of(o.Kind)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(w, bufferSize)
	_, _ = buffered.WriteString("\ufeff") // a failure stays with the writer
	out := csv.NewWriter(buffered)
	if err := out.Write(flatColumns(f)); err != nil {
		return err
	}
	var without leftOut
	if err := without.unless(flatRows(ctx, o, f, out.Write)); err != nil {
		return err
	}
	if out.Flush(); out.Error() != nil {
		return out.Error()
	}
	return cmp.Or(buffered.Flush(), without.err())
}

// maxSheetRows is how many rows a sheet has.
const maxSheetRows = excelize.TotalRows

// exportXLSX writes a workbook with a sheet for each kind, each behind those it refers to. A kind without records has none.
func exportXLSX(ctx context.Context, w io.Writer, o Options) (err error) {
	list, err := exported(o)
	if err != nil {
		return err
	}
	book := excelize.NewFile()
	defer func() { err = errors.Join(err, book.Close()) }()
	var without leftOut
	for _, f := range list {
		if err := without.unless(sheetOf(ctx, o, book, f)); err != nil {
			return fmt.Errorf("export %s: %w", f.Kind.Name, err)
		}
	}
	if len(book.GetSheetList()) > 1 {
		if err := book.DeleteSheet(emptySheet); err != nil {
			return err
		}
	}
	return cmp.Or(book.Write(w), without.err())
}

// emptySheet is the one that a new workbook has.
const emptySheet = "Sheet1"

func sheetOf(ctx context.Context, o Options, book *excelize.File, f kinds.Form) error {
	var out *excelize.StreamWriter
	rows := 0
	write := func(row []string) error {
		if rows++; rows > maxSheetRows {
			return fmt.Errorf("%w: a sheet holds %d rows and there are more: export as .csv or .ndjson", kinds.ErrUsage, maxSheetRows)
		}
		at, err := excelize.CoordinatesToCellName(1, rows)
		if err != nil {
			return err
		}
		texts := make([]any, len(row))
		for i, text := range row {
			if len(text) > excelize.TotalCellChars && len([]rune(text)) > excelize.TotalCellChars {
				return fmt.Errorf("%w: %s %s: a cell holds %d characters and one value has more: export as .csv or .ndjson", kinds.ErrUsage, row[0], row[1], excelize.TotalCellChars)
			}
			texts[i] = text
		}
		return out.SetRow(at, texts)
	}
	err := flatRows(ctx, o, f, func(row []string) (err error) {
		if out == nil {
			if _, err = book.NewSheet(f.Kind.Name); err != nil {
				return err
			}
			if out, err = book.NewStreamWriter(f.Kind.Name); err != nil {
				return err
			}
			if err = write(flatColumns(f)); err != nil {
				return err
			}
		}
		return write(row)
	})
	var without leftOut
	if err = without.unless(err); err != nil || out == nil {
		return cmp.Or(err, without.err())
	}
	return cmp.Or(out.Flush(), without.err())
}
