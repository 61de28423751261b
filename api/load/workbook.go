package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/columns"
	"doorward/api/load/kinds"
	"doorward/api/load/sheet"
	"doorward/api/load/words"

	"github.com/xuri/excelize/v2"
)

// workbook is an .xlsx file.
type workbook struct {
	ctx  context.Context
	file *excelize.File

	merged bool // some cells are
}

// openWorkbook reads the one sheet that has a recognisable header; of several it must be said which.
func openWorkbook(ctx context.Context, sp *sheet.Spool, src *Source) (file, error) {
	w := &workbook{ctx: ctx}
	if err := w.open(sp); err != nil {
		return nil, err
	}
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
	names := w.file.GetSheetList()
	name := src.Sheet
	if name == "" && len(names) > 0 {
		name = names[0]
	}
	s, err := w.sheet(name)
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

func (w *workbook) open(sp *sheet.Spool) error {
	info, err := os.Stat(sp.Name)
	switch {
	case err != nil:
		return fmt.Errorf("read the workbook: %w", err)
	case info.Size() > sheet.MaxWorkbook:
		return fmt.Errorf("%w: the workbook is larger than 256 MiB; save it as CSV", ErrSource)
	}
	if w.merged, err = sheet.Inspect(w.ctx, sp.Name); err != nil {
		return err
	}
	w.file, err = excelize.OpenFile(sp.Name, excelize.Options{
		RawCellValue: true, UnzipSizeLimit: sheet.MaxUnzipped, UnzipXMLSizeLimit: sheet.MaxInMemory,
	})
	if err != nil {
		return sheet.Unreadable(err)
	}
	return nil
}

// table finds the sheet with the list.
func (w *workbook) table(f kinds.Form, src *Source) (*tableFile, error) {
	var fault error
	var found []string
	var best *columns.Layout
	for _, name := range w.file.GetSheetList() {
		if src.Sheet != "" && name != src.Sheet {
			continue
		}
		s, err := w.sheet(name)
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
		fault = fmt.Errorf("%w: --sheet %s: the workbook has no such sheet%s", ErrUsage, src.Sheet, words.DidYouMean(src.Sheet, w.file.GetSheetList()))
	case fault == nil:
		fault = fmt.Errorf("%w: the workbook has no sheet", ErrSource)
	}
	return nil, fault
}

func (w *workbook) sheetTable(name string, ly *columns.Layout, src *Source) (*tableFile, error) {
	if err := w.checkMerged(name, ly.Line); err != nil {
		return nil, err
	}
	props, err := w.file.GetWorkbookProps()
	if err != nil {
		return nil, fmt.Errorf("read the workbook: %w", err)
	}
	if words.KeepsOut(words.Plain(name)) {
		ly.Headings = append(ly.Headings, columns.Heading{Text: name})
	}
	t, err := newTableFile(w.ctx, src, ly, func(ly *columns.Layout) (sheet.Rows, error) { return w.below(name, ly) })
	if err != nil {
		return nil, err
	}
	t.cells.Workbook, t.cells.From1904 = true, props.Date1904 != nil && *props.Date1904
	return t, nil
}

// checkMerged refuses a list in which one cell stands for several: of all but the first row it would be missing.
func (w *workbook) checkMerged(name string, header int) error {
	if !w.merged {
		return nil
	}
	merged, err := w.file.GetMergeCells(name, true)
	if err != nil {
		return sheet.Unreadable(err)
	}
	for _, m := range merged {
		if _, row, err := excelize.CellNameToCoordinates(m.GetEndAxis()); err != nil || row > header {
			return fmt.Errorf("%w: the cells %s to %s of sheet “%s” are merged; each row needs cells of its own", ErrSource, m.GetStartAxis(), m.GetEndAxis(), name)
		}
	}
	return nil
}

// below opens a sheet below its header.
func (w *workbook) below(name string, ly *columns.Layout) (sheet.Rows, error) {
	s, err := w.sheet(name)
	if err != nil {
		return nil, fmt.Errorf("read the workbook: %w", err)
	}
	if s.Shown, err = w.file.Rows(name); err != nil {
		return nil, errors.Join(fmt.Errorf("read the workbook: %w", err), s.Close())
	}
	for _, f := range ly.Feeds {
		if slices.Contains(cells.CodeNames, f.Name) {
			s.Codes = append(s.Codes, f.Columns()...)
		}
	}
	if err := sheet.SkipTo(s, ly.Line); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (w *workbook) sheet(name string) (*sheet.Sheet, error) {
	rows, err := w.file.Rows(name)
	if err != nil {
		return nil, err
	}
	return &sheet.Sheet{Ctx: w.ctx, Rows: rows}, nil
}
