package sheet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/words"

	"github.com/xuri/excelize/v2"
)

// Workbook is an .xlsx file.
type Workbook struct {
	ctx  context.Context
	file *excelize.File
	features
}

// OpenWorkbook opens a workbook that keeps the limits of what it unpacks to. It returns ErrFile for any other. The spool closes it, and with it
// removes its temporary files.
func OpenWorkbook(ctx context.Context, sp *Spool) (*Workbook, error) {
	w := &Workbook{ctx: ctx}
	info, err := os.Stat(sp.Name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the workbook: %w", err)
	case info.Size() > maxWorkbook:
		return nil, fmt.Errorf("%w: the workbook is larger than 256 MiB; save it as CSV", ErrFile)
	}
	if w.features, err = inspect(ctx, sp.Name); err != nil {
		return nil, err
	}
	w.file, err = excelize.OpenFile(sp.Name, excelize.Options{
		RawCellValue: true, UnzipSizeLimit: maxUnzipped, UnzipXMLSizeLimit: maxInMemory, TmpDir: filepath.Dir(sp.Name),
	})
	if err != nil {
		return nil, unreadable(err)
	}
	sp.book = w.file
	return w, nil
}

// Sheets are the names of the sheets.
func (w *Workbook) Sheets() []string { return w.file.GetSheetList() }

// From1904 tells whether dates count from 1904.
func (w *Workbook) From1904() (bool, error) {
	props, err := w.file.GetWorkbookProps()
	if err != nil {
		return false, fmt.Errorf("read the workbook: %w", err)
	}
	return props.Date1904 != nil && *props.Date1904, nil
}

// CheckMerged refuses a list in which one cell stands for several: of all but the first row it would be missing.
func (w *Workbook) CheckMerged(name string, header int) error {
	if !w.merged {
		return nil
	}
	merged, err := w.file.GetMergeCells(name, true)
	if err != nil {
		return unreadable(err)
	}
	for _, m := range merged {
		if _, row, err := excelize.CellNameToCoordinates(m.GetEndAxis()); err != nil || row > header {
			return fmt.Errorf("%w: the cells %s to %s of sheet “%s” are merged; each row needs cells of its own", ErrFile, m.GetStartAxis(), m.GetEndAxis(), name)
		}
	}
	return nil
}

// Sheet reads a sheet as its cells are stored. A chart has no rows: it is an error.
func (w *Workbook) Sheet(name string) (*Sheet, error) {
	rows, err := w.file.Rows(name)
	if err != nil {
		return nil, err
	}
	return &Sheet{ctx: w.ctx, rows: rows}, nil
}

// SheetAsShown reads a sheet of some width, in which some columns are read as their cells are shown. A row that is hidden or crossed out has a
// fault: in a list of guests it may be one that does not come. So has a row with a formula that has no value.
func (w *Workbook) SheetAsShown(name string, columns []int, width int) (*Sheet, error) {
	s, err := w.Sheet(name)
	if err != nil {
		return nil, err
	}
	if s.shown, err = w.file.Rows(name); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.codes, s.marks = columns, marks{file: w.file, name: name, features: w.features, width: width, crossed: w.crossed()}
	if s.marks.remarks, err = w.remarks(name); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// remarks are the cells of a sheet with a comment that refuses admission, by their lines.
func (w *Workbook) remarks(name string) (map[int]int, error) {
	comments, err := w.file.GetComments(name)
	if err != nil {
		return nil, unreadable(err)
	}
	found := map[int]int{}
	for _, c := range comments {
		text := c.Text
		for _, run := range c.Paragraph {
			text += run.Text
		}
		column, line, err := excelize.CellNameToCoordinates(c.Cell)
		if out, _ := words.Heading(words.Plain(text)); err == nil && (out || words.KeepsOut(text, words.Plain(text))) {
			found[line] = column - 1
		}
	}
	return found, nil
}

// maxStyles is how many styles of cells are looked at; Excel knows no more.
const maxStyles = 1 << 16

// crossed are the styles that cross a cell out.
func (w *Workbook) crossed() map[int]bool {
	found := map[int]bool{}
	for id := range maxStyles {
		style, err := w.file.GetStyle(id)
		if err != nil {
			break // there are no more
		}
		if style.Font != nil && style.Font.Strike {
			found[id] = true
		}
	}
	return found
}

// marks tell what a workbook shows of a row and no text says.
type marks struct {
	file *excelize.File
	name string
	features
	width   int          // columns of the list
	crossed map[int]bool // styles of cells
	remarks map[int]int  // line → column of a comment that refuses admission
}

// fault is why a row is not taken as it is, and the column that shows it.
func (m *marks) fault(line int, texts []string, hidden bool) (at int, fault string) {
	if hidden {
		return 0, "the row is hidden in the workbook; show it, or take it out"
	}
	if at, ok := m.remarks[line]; ok {
		return at, "a comment in the workbook says that it is cancelled, refunded, blocked or not paid; say its state in a column, or take the row out"
	}
	if len(m.crossed) == 0 && !m.struck {
		return 0, ""
	}
	for i, text := range texts {
		cell, err := excelize.CoordinatesToCellName(i+1, line)
		if err != nil || strings.TrimSpace(text) == "" {
			continue
		}
		if m.isCrossed(cell) {
			return i, "it is crossed out in the workbook; say its state in a column, or take the row out"
		}
	}
	return 0, ""
}

// blankFormula is why a row is not taken if one of its formulas has no value, and the column of the formula. A program that writes a workbook may
// leave them to be worked out when a person opens it.
func (m *marks) blankFormula(line int, texts []string) (at int, fault string) {
	if !m.unvalued && !(m.formulas && m.unworked) {
		return 0, ""
	}
	for i := range max(m.width, len(texts)) {
		text := ""
		if i < len(texts) {
			text = texts[i]
		}
		if cell, err := excelize.CoordinatesToCellName(i+1, line); err == nil && (text == "" || m.unworked) && m.isUnvalued(cell) {
			return i, "the value of a formula is not worked out; open the workbook in a spreadsheet program, save it, and import it again"
		}
	}
	return 0, ""
}

// isUnvalued tells a cell with a formula of which the value is not known. A text of no letters is one.
func (m *marks) isUnvalued(cell string) bool {
	formula, err := m.file.GetCellFormula(m.name, cell)
	if err != nil || formula == "" || m.unworked {
		return err != nil || formula != ""
	}
	of, err := m.file.GetCellType(m.name, cell)
	return err != nil || of != excelize.CellTypeFormula
}

// isCrossed tells a cell that is crossed out, or a part of its text. One that cannot be looked at may be.
func (m *marks) isCrossed(cell string) bool {
	if style, err := m.file.GetCellStyle(m.name, cell); err != nil || m.crossed[style] {
		return true
	}
	if !m.struck {
		return false
	}
	runs, err := m.file.GetCellRichText(m.name, cell)
	return err != nil || slices.ContainsFunc(runs, func(run excelize.RichTextRun) bool { return run.Font != nil && run.Font.Strike })
}

// Sheet is the table of one sheet.
type Sheet struct {
	ctx   context.Context
	rows  *excelize.Rows
	shown *excelize.Rows // the same as the cells are shown; nil where all are read as they are stored
	codes []int          // the columns that are read as they are shown
	marks marks
	line  int
}

// Close ends the reading.
func (s *Sheet) Close() error {
	err := s.rows.Close()
	if s.shown != nil {
		err = errors.Join(err, s.shown.Close())
	}
	return err
}

// Next answers the next row that is not blank, or that has a formula without a value; io.EOF after the last.
func (s *Sheet) Next() (Row, error) {
	for s.rows.Next() {
		if s.ctx.Err() != nil {
			return Row{}, context.Cause(s.ctx)
		}
		s.line++
		texts, err := s.rows.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return Row{Line: s.line, Fault: "the workbook is damaged here", Torn: true}, nil
		}
		at, fault, err := s.display(texts)
		if err != nil {
			return Row{Line: s.line, Fault: "the workbook is damaged here", Torn: true}, nil
		}
		blank, size := true, 0
		for i, t := range texts {
			size += len(t)
			texts[i] = whole(t)
			blank = blank && strings.TrimSpace(t) == ""
		}
		if size > maxRow {
			return Row{Line: s.line, Fault: faultLong, Torn: true}, nil
		}
		if s.shown != nil && !blank && fault == "" {
			at, fault = s.marks.fault(s.line, texts, s.rows.GetRowOpts().Hidden)
		}
		torn := false
		if s.shown != nil && fault == "" {
			at, fault = s.marks.blankFormula(s.line, texts)
			torn = fault != ""
		}
		if !blank || fault != "" {
			return Row{Line: s.line, Texts: texts, At: at, Fault: fault, Torn: torn}, nil
		}
	}
	if err := s.rows.Error(); err != nil {
		return Row{}, fmt.Errorf("%w: the workbook breaks off: %w", ErrFile, err)
	}
	return Row{}, io.EOF
}

// grouping takes out what groups the digits of a number.
var grouping = strings.NewReplacer(",", "", ".", "", "'", "", "’", "", " ", "", "\u00a0", "", "\u202f", "")

// display puts codes as their cells show them, 000042 for 42, but without what groups their digits. A number that is shown in scientific
// notation merely lacks a format: it stays as it is stored, if all its digits are.
func (s *Sheet) display(texts []string) (at int, fault string, err error) {
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
		case grouping.Replace(shown[c]) == texts[c]:
			// 123,456 stays 123456, as a ticket has it
		case !cells.Scientific.MatchString(shown[c]) || len(strings.TrimLeft(texts[c], "-0")) > 15 && !strings.ContainsAny(texts[c], ".E"):
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
		return text // digits are lost: a reader of digits refuses it
	}
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', 15, 64), 64) // what FormatFloat wrote can be read
	return strconv.FormatFloat(f, 'f', -1, 64)
}
