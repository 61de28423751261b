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
)

// workbook is an .xlsx file of which one sheet is read.
type workbook struct {
	ctx  context.Context
	file *sheet.Workbook
}

// openWorkbook reads the one sheet that has a recognisable header; of several it must be said which.
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

// ownKind is the kind of the sheet that is read, where export wrote the workbook; of several sheets it must be said which.
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
	var found []string
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
		return w.sheetTable(found[0], best, src)
	case fault == nil && src.Sheet != "":
		fault = fmt.Errorf("%w: --sheet %s: the workbook has no such sheet%s", ErrUsage, src.Sheet, words.DidYouMean(src.Sheet, w.file.Sheets()))
	case fault == nil:
		fault = fmt.Errorf("%w: the workbook has no sheet", ErrSource)
	}
	return nil, fault
}

func (w *workbook) sheetTable(name string, ly *columns.Layout, src *Source) (*tableFile, error) {
	if err := w.file.CheckMerged(name, ly.Line); err != nil {
		return nil, err
	}
	from1904, err := w.file.From1904()
	if err != nil {
		return nil, err
	}
	if words.KeepsOut(words.Plain(name)) {
		ly.Headings = append(ly.Headings, columns.Heading{Text: name})
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
