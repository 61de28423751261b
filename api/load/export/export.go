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
	j := &job{Options: o, ctx: ctx, w: w}
	write, ok := map[string]func() error{"": j.ndjson, NDJSON: j.ndjson, CSV: j.csv, XLSX: j.xlsx}[o.Format]
	if !ok {
		return fmt.Errorf("%w: there is no format “%s”; the formats are %s", kinds.ErrUsage, o.Format, strings.Join(Formats, ", "))
	}
	if err := write(); err != nil || j.left.Count == 0 {
		return err
	}
	return &j.left
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

// job is one export.
type job struct {
	Options
	ctx  context.Context
	w    io.Writer
	left feed.LeftOut // what is left out, of all kinds
}

// kinds are those that the export holds.
func (j *job) kinds() ([]kinds.Form, error) {
	if j.Kind == "" {
		return kinds.All(), nil
	}
	f, err := kinds.Of(j.Kind)
	return []kinds.Form{f}, err
}

// each calls fn with every record of a kind. It collects what is left out.
func (j *job) each(f kinds.Form, fn func(json []byte) error) error {
	err := j.Log.Export(j.Who, f.Kind, func(json []byte) error {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		return fn(json)
	})
	if out := (*feed.LeftOut)(nil); errors.As(err, &out) {
		j.left.Add(out)
		return nil
	}
	return err
}

func (j *job) ndjson() error {
	list, err := j.kinds()
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(j.w, bufferSize)
	for _, f := range list {
		head := `{"` + kinds.Kind + `":"` + f.Kind.Name + `",`
		err := j.each(f, func(json []byte) error {
			_, _ = buffered.WriteString(head) // a failure stays with the writer
			_, _ = buffered.Write(json[1:])
			return buffered.WriteByte('\n')
		})
		if err != nil {
			return fmt.Errorf("export %s: %w", f.Kind.Name, err)
		}
	}
	return buffered.Flush()
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

// rows calls fn with the cells of each record of a kind.
func (j *job) rows(f kinds.Form, fn func(row []string) error) error {
	columns := flatColumns(f)
	return j.each(f, func(body []byte) error {
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

// csv writes the records of one kind, in UTF-8 with the mark by which spreadsheets know it.
func (j *job) csv() error {
	if j.Kind == "" {
		return fmt.Errorf("%w: a .csv file holds one kind: say which with --kind; .xlsx holds all, a sheet each", kinds.ErrUsage)
	}
	f, err := kinds.Of(j.Kind)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(j.w, bufferSize)
	_, _ = buffered.WriteString("\ufeff") // a failure stays with the writer
	out := csv.NewWriter(buffered)
	if err := out.Write(flatColumns(f)); err != nil {
		return err
	}
	if err := j.rows(f, out.Write); err != nil {
		return err
	}
	out.Flush()
	return cmp.Or(out.Error(), buffered.Flush())
}

// maxSheetRows is how many rows a sheet has.
const maxSheetRows = excelize.TotalRows

// xlsx writes a workbook with a sheet for each kind, each behind those it refers to. A kind without records has none.
func (j *job) xlsx() (err error) {
	list, err := j.kinds()
	if err != nil {
		return err
	}
	book := excelize.NewFile()
	defer func() { err = errors.Join(err, book.Close()) }()
	for _, f := range list {
		if err := j.sheet(book, f); err != nil {
			return fmt.Errorf("export %s: %w", f.Kind.Name, err)
		}
	}
	if len(book.GetSheetList()) > 1 {
		if err := book.DeleteSheet(emptySheet); err != nil {
			return err
		}
	}
	return book.Write(j.w)
}

// emptySheet is the one that a new workbook has.
const emptySheet = "Sheet1"

func (j *job) sheet(book *excelize.File, f kinds.Form) error {
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
	err := j.rows(f, func(row []string) (err error) {
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
	if err != nil || out == nil {
		return err
	}
	return out.Flush()
}
