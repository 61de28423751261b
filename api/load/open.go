package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"doorward/api/load/columns"
	"doorward/api/load/kinds"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
)

// drafts reads a file row by row: next returns a draft or a rejection; io.EOF after the last.
type drafts interface {
	next() (draft, *Rejection, error)
	ignored() []string
	close() error
}

// file is a source with known columns; it can be read more than once.
type file interface {
	drafts() (drafts, error)
	plan(rep *Report) // says how it is read
	close() error
}

// open decides by the content of a source how it is read.
func open(ctx context.Context, sp *sheet.Spool, src *Source) (file, error) {
	r, closer, err := sp.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = closer.Close() }() // it was only read
	head, err := r.Peek(sheet.HeadSize)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("read the file: %w", err)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return openWorkbook(ctx, sp, src)
	case src.Sheet != "":
		return nil, fmt.Errorf("%w: --sheet %s: the file is no workbook (.xlsx)", ErrUsage, src.Sheet)
	case bytes.HasPrefix(head, []byte("\x00")), bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")): // UTF-32 too
		return nil, fmt.Errorf("%w: it is no text; a list is wanted, as CSV, XLSX or NDJSON", ErrSource)
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0")):
		return nil, fmt.Errorf("%w: it is a workbook of the old kind (.xls), or one with a password; save it as .xlsx or CSV, without one", ErrSource)
	case bytes.HasPrefix(head, []byte("%PDF")), bytes.HasPrefix(head, []byte("\x89PNG")), bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return nil, fmt.Errorf("%w: it is a document or a picture; a list is wanted, as CSV, XLSX or NDJSON", ErrSource)
	}
	in := sheet.NewLines(r)
	switch in.FirstByte() {
	case '<':
		return nil, fmt.Errorf("%w: it is a web page or XML, whatever its name says; open it in a spreadsheet and save it as .xlsx or CSV", ErrSource)
	case 0:
		return nil, fmt.Errorf("%w: it is empty", ErrSource)
	case '{':
		if isPretix(head) {
			return openPretix(ctx, sp, src)
		}
		return openNDJSON(ctx, sp, src)
	case '[':
		return nil, fmt.Errorf("%w: it is one JSON array; one object a line is read (NDJSON)", ErrSource)
	}
	if sheet.IsBinary(head) {
		return nil, fmt.Errorf("%w: it is no text; a list is wanted, as CSV, XLSX or NDJSON", ErrSource)
	}
	return openCSV(ctx, sp, in, src)
}

// tabular returns the form of a table's rows. Only a table that export wrote names the kind of its rows.
func tabular(src *Source, own func() string) (kinds.Form, error) {
	if src.Kind == "" {
		src.Kind = own()
	}
	if src.Kind == "" {
		return kinds.Form{}, fmt.Errorf("%w: the file is a table: say with --kind what its rows are", ErrUsage)
	}
	f, err := kinds.Of(src.Kind)
	if err != nil {
		return kinds.Form{}, err
	}
	for _, field := range slices.Sorted(maps.Keys(src.Map)) {
		if !f.Has(field) {
			return kinds.Form{}, fmt.Errorf("%w: --map %s=…: kind %s has no such field%s", ErrUsage, field, src.Kind, words.DidYouMean(field, f.Known()))
		}
	}
	return f, nil
}

// openCSV finds the separator and the header: it takes the separator by which a row names the most fields.
func openCSV(ctx context.Context, sp *sheet.Spool, in *sheet.Lines, src *Source) (file, error) {
	f, err := tabular(src, func() string { return columns.OwnKind(sheet.Top(&sheet.CSV{In: in.Probe(), Comma: ','})) })
	if err != nil {
		return nil, err
	}
	var best *columns.Layout
	var comma byte
	var tops [][]sheet.Row
	for _, c := range sheet.Separators(in) {
		top := sheet.Top(&sheet.CSV{In: in.Probe(), Comma: c})
		if wide := slices.MaxFunc(append(top, sheet.Row{}), func(a, b sheet.Row) int { return len(a.Texts) - len(b.Texts) }); len(wide.Texts) > sheet.MaxColumns {
			return nil, tooWide(wide.Line, len(wide.Texts))
		}
		ly := columns.Find(top, f, &src.answers)
		if ly != nil && (best == nil || ly.Understood() > best.Understood()) {
			best, comma = ly, c
		}
		tops = append(tops, top)
	}
	if best == nil {
		return nil, headless(tops, f)
	}
	return newTableFile(ctx, src, best, func(ly *columns.Layout) (sheet.Rows, error) {
		r, closer, err := sp.Open()
		if err != nil {
			return nil, err
		}
		rows := &sheet.CSV{In: sheet.NewLines(r), Comma: comma, Closer: closer}
		if err := sheet.SkipTo(rows, ly.Line); err != nil {
			return nil, errors.Join(err, closer.Close())
		}
		rows.Width, rows.Full = ly.Width(), ly.Full
		return rows, nil
	})
}

func tooWide(line, columns int) error {
	return fmt.Errorf("%w: line %d has %d columns; up to %d are read", ErrSource, line, columns, sheet.MaxColumns)
}

// headless returns the fault of a file without a header: the fault by the separator that comes closest.
func headless(tops [][]sheet.Row, f kinds.Form) (fault *columns.HeaderError) {
	for _, top := range tops {
		if e := columns.NoHeader(top, f); fault == nil || len(e.Near) > len(fault.Near) {
			fault = e
		}
	}
	return fault
}
