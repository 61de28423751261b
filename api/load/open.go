package load

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/columns"
	"doorward/api/load/kinds"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/record"
)

// drafts reads a file row by row: next returns a draft or a rejection; io.EOF after the last. report then says what was left out.
type drafts interface {
	next() (draft, *Rejection, error)
	report(rep *Report)
	close() error
}

// file is a source with known columns; it can be read more than once.
type file interface {
	drafts() (drafts, error)
	plan(rep *Report) // says how it is read
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
	case bytes.HasPrefix(head, []byte("\x00\x00")), bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")): // UTF-32 too
		return nil, fmt.Errorf("%w: it is no text; a list is wanted, as CSV, XLSX or NDJSON", ErrSource)
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0")):
		return nil, fmt.Errorf("%w: it is a workbook of the old kind (.xls), or one with a password; save it as .xlsx or CSV, without one", ErrSource)
	case bytes.HasPrefix(head, []byte("%PDF")), bytes.HasPrefix(head, []byte(`{\rtf`)), bytes.HasPrefix(head, []byte("\x89PNG")), bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return nil, fmt.Errorf("%w: it is a document or a picture; a list is wanted, as CSV, XLSX or NDJSON", ErrSource)
	case bytes.HasPrefix(head, []byte("TABLE\n0,1")), bytes.HasPrefix(head, []byte("TABLE\r\n0,1")), bytes.HasPrefix(head, []byte("ID;PWXL")):
		return nil, fmt.Errorf("%w: it is a spreadsheet of an old kind (DIF or SYLK); open it in a spreadsheet program and save it as .xlsx or CSV", ErrSource)
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
		if !f.Has(field) && f.Column(field) == nil {
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
	if err := in.Check(); err != nil {
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

// workbook is an .xlsx file. One of its sheets is read.
type workbook struct {
	ctx  context.Context
	file *sheet.Workbook
}

// openWorkbook opens the one sheet with a known header. If several have one, --sheet must name it.
func openWorkbook(ctx context.Context, sp *sheet.Spool, src *Source) (file, error) {
	book, err := sheet.OpenWorkbook(ctx, sp)
	if err != nil {
		return nil, err
	}
	w := &workbook{ctx, book}
	own, err := w.ownKind(src)
	if err != nil {
		return nil, err
	}
	f, err := tabular(src, func() string { return own })
	if err != nil {
		return nil, err
	}
	return w.table(f, src)
}

// ownKind returns the kind of the sheet that is read, if export wrote the workbook. If it has several sheets, --sheet must name one.
func (w *workbook) ownKind(src *Source) (string, error) {
	names := w.file.Sheets()
	name := src.Sheet
	if name == "" && len(names) > 0 {
		name = names[0]
	}
	s, err := w.file.Sheet(name)
	if err != nil {
		return "", nil // what is wrong with it is said when it is read
	}
	defer func() { _ = s.Close() }() // it was only read
	own := columns.OwnKind(sheet.Top(s))
	if own != "" && src.Sheet == "" && src.Kind == "" && len(names) > 1 {
		return "", fmt.Errorf("%w: the workbook has a sheet for each kind, “%s”: say which with --sheet, in this order",
			ErrSource, strings.Join(names, "”, “"))
	}
	return own, nil
}

// table finds the sheet with the list.
func (w *workbook) table(f kinds.Form, src *Source) (file, error) {
	var fault error
	var found, others []string
	var best *columns.Layout
	for _, name := range w.file.Sheets() {
		if src.Sheet != "" && name != src.Sheet {
			continue
		}
		s, err := w.file.Sheet(name)
		if err != nil {
			continue // a chart sheet has no rows
		}
		head := sheet.Top(s)
		if w.ctx.Err() != nil {
			return nil, errors.Join(context.Cause(w.ctx), s.Close())
		}
		ly := columns.Find(head, f, &src.answers)
		if err := s.Close(); err != nil {
			return nil, fmt.Errorf("read the workbook: %w", err)
		}
		if len(head) > 0 {
			others = append(others, name)
		}
		switch {
		case ly == nil:
			if fault == nil {
				fault = columns.NoHeader(head, f)
			}
		case len(ly.Missing(&src.answers)) > 0:
			fault = cmp.Or(fault, ly.Check(&src.answers))
		default:
			found, best = append(found, name), ly
		}
	}
	switch {
	case len(found) > 1:
		return nil, fmt.Errorf("%w: the workbook has %d sheets with such a list, “%s”: say which with --sheet '%s'",
			ErrSource, len(found), strings.Join(found, "”, “"), found[0])
	case len(found) == 1:
		others = slices.DeleteFunc(others, func(name string) bool { return name == found[0] })
		return w.oneOf(found[0], others, best, src)
	case fault == nil && src.Sheet != "":
		fault = fmt.Errorf("%w: --sheet %s: the workbook has no such sheet%s", ErrUsage, src.Sheet, words.DidYouMean(src.Sheet, w.file.Sheets()))
	case fault == nil:
		fault = fmt.Errorf("%w: the workbook has no sheet", ErrSource)
	}
	return nil, fault
}

// oneOf reads one sheet beside others with rows. It stops if one of these is called after tickets that do not get in: the sheet that is read may
// hold them too.
func (w *workbook) oneOf(name string, others []string, ly *columns.Layout, src *Source) (file, error) {
	if ly.Form.Kind == record.Ticket {
		for _, other := range others {
			if words.SheetKeepsOut(words.Plain(other)) {
				return nil, fmt.Errorf("%w: the sheet “%s” holds no list that can be read, and its name says that its tickets do not get in: give the rows of “%s” their state in a column, "+
					"or say --sheet '%s' if none of its tickets is one of them", ErrSource, other, name, name)
			}
		}
	}
	t, err := w.sheetTable(name, ly, src)
	if err != nil {
		return nil, err
	}
	t.unread = others
	return t, nil
}

func (w *workbook) sheetTable(name string, ly *columns.Layout, src *Source) (*tableFile, error) {
	if err := w.file.CheckMerged(name, ly.Line); err != nil {
		return nil, err
	}
	from1904, err := w.file.From1904()
	if err != nil {
		return nil, err
	}
	if words.SheetKeepsOut(words.Plain(name)) {
		ly.Headings = append(ly.Headings, columns.Heading{Text: name, Out: true})
	}
	t, err := newTableFile(w.ctx, src, ly, func(ly *columns.Layout) (sheet.Rows, error) { return w.below(name, ly) })
	if err != nil {
		return nil, err
	}
	t.cells.Workbook, t.cells.From1904 = true, from1904
	return t, nil
}

// below opens a sheet below its header.
func (w *workbook) below(name string, ly *columns.Layout) (sheet.Rows, error) {
	var shown []int
	for _, f := range ly.Feeds {
		if slices.Contains(cells.CodeNames, f.Name) {
			shown = append(shown, f.Columns()...)
		}
	}
	s, err := w.file.SheetAsShown(name, shown, ly.Full)
	if err != nil {
		return nil, fmt.Errorf("read the workbook: %w", err)
	}
	if err := sheet.SkipTo(s, ly.Line); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
