package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/columns"
	"doorward/api/load/kinds"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/record"
)

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
	var f kinds.Form
	if err == nil {
		f, err = tabular(src, func() string { return own })
	}
	if err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	t, err := w.table(f, src)
	if err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	t.end = w.file.Close
	return t, nil
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
func (w *workbook) table(f kinds.Form, src *Source) (*tableFile, error) {
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
func (w *workbook) oneOf(name string, others []string, ly *columns.Layout, src *Source) (*tableFile, error) {
	if ly.Form.Kind == record.Ticket {
		for _, other := range others {
			if words.SheetKeepsOut(words.Plain(other)) {
				return nil, fmt.Errorf("%w: the sheet “%s” holds no list that can be read, and its name says that its tickets do not get in: give the rows of “%s” their state in a column, "+
					"or say --sheet '%s' if none of its tickets is one of them", ErrSource, other, name, name)
			}
		}
	}
	t, err := w.sheetTable(name, ly, src)
	if err == nil {
		t.unread = others
	}
	return t, err
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
	s, err := w.file.SheetAsShown(name, shown)
	if err != nil {
		return nil, fmt.Errorf("read the workbook: %w", err)
	}
	if err := sheet.SkipTo(s, ly.Line); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
