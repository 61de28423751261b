package load

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/xuri/excelize/v2"

	"doorward/kv"
	"doorward/kv/record"
	"doorward/kv/value"
)

// The formats of an export. A table has a column for the record's kind, one for its id, and one for each field that import reads.
const (
	FormatNDJSON = "ndjson"
	FormatCSV    = "csv"
	FormatXLSX   = "xlsx"
)

// Formats are all of them.
var Formats = []string{FormatNDJSON, FormatCSV, FormatXLSX}

// flatColumns are the columns of a kind's table.
func flatColumns(f form) []string {
	columns := []string{nameKind, nameID}
	for i := range f.table.Fields {
		if name := f.table.Fields[i].Name; name != nameID && f.has(name) {
			columns = append(columns, name)
		}
	}
	if f.field(nameExternal) == nil {
		columns = append(columns, nameExternal)
	}
	return columns
}

// flatRows calls fn with the cells of each record of a kind.
func flatRows(ctx context.Context, s *kv.Store, p kv.Principal, f form, fn func(row []string) error) error {
	columns := flatColumns(f)
	return s.Export(p, f.kind, func(body []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var values map[string]jsontext.Value
		if err := json.Unmarshal(body, &values); err != nil {
			return fmt.Errorf("%s: %w", f.kind.Name, err)
		}
		row := make([]string, len(columns))
		row[0] = f.kind.Name
		for i, name := range columns[1:] {
			row[i+1] = flatCell(f.field(name), values[name])
		}
		return fn(row)
	})
}

// flatCell is a value as ownValue reads it back: texts as they are, lists and objects as JSON.
func flatCell(f *record.Field, v jsontext.Value) string {
	if len(v) == 0 || v.Kind() == 'n' {
		return ""
	}
	if f != nil && isStructured(f) {
		return string(v)
	}
	if v.Kind() != '"' {
		return string(v)
	}
	text := value.Unquote(v)
	if guarded.MatchString(text) {
		return "'" + text
	}
	return text
}

// isStructured tells the fields whose values are no single text or number.
func isStructured(f *record.Field) bool {
	switch f.Type.(type) {
	case record.Object, record.Objects, record.Refs, record.Texts:
		return true
	}
	return false
}

// exportCSV writes the records of one kind, in UTF-8 with the mark by which spreadsheets know it.
func exportCSV(ctx context.Context, s *kv.Store, p kv.Principal, w io.Writer, o ExportOptions) error {
	if o.Kind == "" {
		return fmt.Errorf("%w: a .csv file holds one kind: say which with --kind; .xlsx holds all, a sheet each", ErrUsage)
	}
	f, err := formOf(o.Kind)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(w, headSize)
	_, _ = buffered.WriteString("\ufeff") // a failure stays with the writer
	out := csv.NewWriter(buffered)
	if err := out.Write(flatColumns(f)); err != nil {
		return err
	}
	var without leftOut
	if err := without.unless(flatRows(ctx, s, p, f, out.Write)); err != nil {
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
func exportXLSX(ctx context.Context, s *kv.Store, p kv.Principal, w io.Writer, o ExportOptions) (err error) {
	list, err := exported(o)
	if err != nil {
		return err
	}
	book := excelize.NewFile()
	defer func() { err = errors.Join(err, book.Close()) }()
	var without leftOut
	for _, f := range list {
		if err := without.unless(sheetOf(ctx, s, p, book, f)); err != nil {
			return fmt.Errorf("export %s: %w", f.kind.Name, err)
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

func sheetOf(ctx context.Context, s *kv.Store, p kv.Principal, book *excelize.File, f form) error {
	var out *excelize.StreamWriter
	rows := 0
	write := func(row []string) error {
		if rows++; rows > maxSheetRows {
			return fmt.Errorf("%w: a sheet holds %d rows and there are more: export as .csv or .ndjson", ErrUsage, maxSheetRows)
		}
		at, err := excelize.CoordinatesToCellName(1, rows)
		if err != nil {
			return err
		}
		texts := make([]any, len(row))
		for i, text := range row {
			if len(text) > excelize.TotalCellChars && len([]rune(text)) > excelize.TotalCellChars {
				return fmt.Errorf("%w: %s %s: a cell holds %d characters and one value has more: export as .csv or .ndjson", ErrUsage, row[0], row[1], excelize.TotalCellChars)
			}
			texts[i] = text
		}
		return out.SetRow(at, texts)
	}
	err := flatRows(ctx, s, p, f, func(row []string) (err error) {
		if out == nil {
			if _, err = book.NewSheet(f.kind.Name); err != nil {
				return err
			}
			if out, err = book.NewStreamWriter(f.kind.Name); err != nil {
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

// ownKind is the kind of a table that export wrote, "" for any other.
func ownKind(top []cells) string {
	if len(top) > 1 && slices.Equal(top[0].texts[:min(2, len(top[0].texts))], []string{nameKind, nameID}) && len(top[1].texts) > 0 {
		return strings.TrimSpace(top[1].texts[0])
	}
	return ""
}
