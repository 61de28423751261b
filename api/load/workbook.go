package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"
)

// workbook is an .xlsx file.
type workbook struct {
	ctx  context.Context
	file *excelize.File

	merged bool // some cells are
}

// openWorkbook reads the one sheet that has a recognisable header; of several it must be said which.
func openWorkbook(ctx context.Context, sp *spool, src *Source) (file, error) {
	w := &workbook{ctx: ctx}
	if err := w.open(sp); err != nil {
		return nil, err
	}
	own, err := w.ownKind(src)
	var f form
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
	defer func() { _ = s.close() }() // it was only read
	own := ownKind(top(s))
	if own != "" && src.Sheet == "" && src.Kind == "" && len(names) > 1 {
		return "", fmt.Errorf("%w: the workbook has a sheet for each kind, “%s”: say which with --sheet, in this order",
			ErrSource, strings.Join(names, "”, “"))
	}
	return own, nil
}

func (w *workbook) open(sp *spool) error {
	info, err := os.Stat(sp.name)
	switch {
	case err != nil:
		return fmt.Errorf("read the workbook: %w", err)
	case info.Size() > maxWorkbook:
		return fmt.Errorf("%w: the workbook is larger than 256 MiB; save it as CSV", ErrSource)
	}
	if w.merged, err = inspect(w.ctx, sp.name); err != nil {
		return err
	}
	w.file, err = excelize.OpenFile(sp.name, excelize.Options{
		RawCellValue: true, UnzipSizeLimit: maxUnzipped, UnzipXMLSizeLimit: maxInMemory,
	})
	if err != nil {
		return unreadable(err)
	}
	return nil
}

// table finds the sheet with the list.
func (w *workbook) table(f form, src *Source) (*tableFile, error) {
	var fault error
	var found []string
	var best *layout
	for _, name := range w.file.GetSheetList() {
		if src.Sheet != "" && name != src.Sheet {
			continue
		}
		s, err := w.sheet(name)
		if err != nil {
			continue // a chart sheet has no rows
		}
		head := top(s)
		if w.ctx.Err() != nil {
			return nil, errors.Join(context.Cause(w.ctx), s.close())
		}
		ly := findHeader(head, f, src)
		if err := s.close(); err != nil {
			return nil, fmt.Errorf("read the workbook: %w", err)
		}
		switch {
		case ly == nil:
			if fault == nil {
				fault = noHeader(head, f)
			}
		case len(ly.missing(src)) > 0:
			fault = cmp.Or(fault, ly.check(src))
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
		fault = fmt.Errorf("%w: --sheet %s: the workbook has no such sheet%s", ErrUsage, src.Sheet, didYouMean(src.Sheet, w.file.GetSheetList()))
	case fault == nil:
		fault = fmt.Errorf("%w: the workbook has no sheet", ErrSource)
	}
	return nil, fault
}

func (w *workbook) sheetTable(name string, ly *layout, src *Source) (*tableFile, error) {
	if err := w.checkMerged(name, ly.line); err != nil {
		return nil, err
	}
	props, err := w.file.GetWorkbookProps()
	if err != nil {
		return nil, fmt.Errorf("read the workbook: %w", err)
	}
	if keepsOut(plain(name)) {
		ly.headings = append(ly.headings, heading{text: name})
	}
	t, err := newTableFile(w.ctx, src, ly, func(ly *layout) (table, error) { return w.below(name, ly) })
	if err != nil {
		return nil, err
	}
	t.cells.workbook, t.cells.from1904 = true, props.Date1904 != nil && *props.Date1904
	return t, nil
}

// checkMerged refuses a list in which one cell stands for several: of all but the first row it would be missing.
func (w *workbook) checkMerged(name string, header int) error {
	if !w.merged {
		return nil
	}
	merged, err := w.file.GetMergeCells(name, true)
	if err != nil {
		return unreadable(err)
	}
	for _, m := range merged {
		if _, row, err := excelize.CellNameToCoordinates(m.GetEndAxis()); err != nil || row > header {
			return fmt.Errorf("%w: the cells %s to %s of sheet “%s” are merged; each row needs cells of its own", ErrSource, m.GetStartAxis(), m.GetEndAxis(), name)
		}
	}
	return nil
}

// below opens a sheet below its header.
func (w *workbook) below(name string, ly *layout) (table, error) {
	s, err := w.sheet(name)
	if err != nil {
		return nil, fmt.Errorf("read the workbook: %w", err)
	}
	if s.shown, err = w.file.Rows(name); err != nil {
		return nil, errors.Join(fmt.Errorf("read the workbook: %w", err), s.close())
	}
	for _, f := range ly.feeds {
		if slices.Contains(codeNames, f.name) {
			s.codes = append(s.codes, f.columns()...)
		}
	}
	if err := skipTo(s, ly.line); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (w *workbook) sheet(name string) (*sheet, error) {
	rows, err := w.file.Rows(name)
	if err != nil {
		return nil, err
	}
	return &sheet{ctx: w.ctx, rows: rows}, nil
}

// sheet is the table of one sheet.
type sheet struct {
	ctx   context.Context
	rows  *excelize.Rows
	shown *excelize.Rows // the same as the cells are shown; nil while the header is looked for
	codes []int          // the columns that are read as they are shown
	line  int
}

func (s *sheet) close() error {
	err := s.rows.Close()
	if s.shown != nil {
		err = errors.Join(err, s.shown.Close())
	}
	return err
}

func (s *sheet) next() (cells, error) {
	for s.rows.Next() {
		if s.ctx.Err() != nil {
			return cells{}, context.Cause(s.ctx)
		}
		s.line++
		texts, err := s.rows.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return cells{line: s.line, fault: "the workbook is damaged here"}, nil
		}
		at, fault, err := s.display(texts)
		if err != nil {
			return cells{line: s.line, fault: "the workbook is damaged here"}, nil
		}
		blank, size := true, 0
		for i, t := range texts {
			size += len(t)
			texts[i] = whole(t)
			blank = blank && strings.TrimSpace(t) == ""
		}
		if size > maxRow {
			return cells{line: s.line, fault: faultLong}, nil
		}
		if !blank {
			return cells{line: s.line, texts: texts, at: at, fault: fault}, nil
		}
	}
	if err := s.rows.Error(); err != nil {
		return cells{}, fmt.Errorf("%w: the workbook breaks off: %w", ErrSource, err)
	}
	return cells{}, io.EOF
}

// display puts codes as their cells show them, 000042 for 42. A number that is shown in scientific notation merely lacks a
// format: it stays as it is stored, if all its digits are.
func (s *sheet) display(texts []string) (at int, fault string, err error) {
	if s.shown == nil || !s.shown.Next() {
		return 0, "", nil
	}
	shown, err := s.shown.Columns(excelize.Options{})
	if err != nil {
		return 0, "", err
	}
	for _, c := range s.codes {
		if c >= min(len(texts), len(shown)) || texts[c] == shown[c] {
			continue
		}
		switch {
		case (texts[c] == "0" || texts[c] == "1") && (shown[c] == "TRUE" || shown[c] == "FALSE"):
			at, fault = c, "yes or no, where a code is wanted"
		case !scientific.MatchString(shown[c]) || len(strings.TrimLeft(texts[c], "-0")) > 15 && !strings.ContainsAny(texts[c], ".E"):
			texts[c] = shown[c]
		}
	}
	return at, fault, nil
}

// stored is how a workbook stores a number that its cell shows with fewer digits: 5.5119999999999997E+12, 10.300000000000001.
var stored = regexp.MustCompile(`^-?\d+(\.\d{10,})?(E[+-]?\d+)?$|^-?\d(\.\d+)?E[+-]?\d+$`)

// whole writes a stored number as its cell shows it, to 15 digits and without an exponent.
func whole(text string) string {
	if len(text) < 12 || !strings.ContainsAny(text, ".E") || !stored.MatchString(text) {
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.Abs(f) >= 1e15 {
		return text // digits are lost: who reads digits refuses it
	}
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', 15, 64), 64) // what FormatFloat wrote can be read
	return strconv.FormatFloat(f, 'f', -1, 64)
}
