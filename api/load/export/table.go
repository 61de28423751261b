package export

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"doorward/api/load/cells"
	"doorward/api/load/kinds"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/xuri/excelize/v2"
)

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
