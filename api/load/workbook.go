package load

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"
)

// A workbook is a zip archive: what it may hold is limited, so that a small file does not fill the machine.
const (
	maxWorkbook = 256 << 20 // of the file
	maxUnzipped = 4 << 30   // of all its parts
	maxInMemory = 16 << 20  // of one part; a larger one lies in a temporary file while it is read
)

// workbook is an .xlsx file, kept in a temporary file while it is read.
type workbook struct {
	file *excelize.File
	temp string
}

// openWorkbook reads the first sheet that has a recognisable header.
func openWorkbook(r io.Reader, src *Source) (drafts, func() error, error) {
	f, err := tabular(src)
	if err != nil {
		return nil, nil, err
	}
	w, err := spool(r)
	if err != nil {
		return nil, nil, err
	}
	d, err := w.drafts(f, src)
	if err != nil {
		return nil, nil, errors.Join(err, w.close())
	}
	return d, func() error { return errors.Join(d.rows.(*sheet).rows.Close(), w.close()) }, nil
}

func spool(r io.Reader) (*workbook, error) {
	temp, err := os.CreateTemp("", "doorward-*.xlsx")
	if err != nil {
		return nil, fmt.Errorf("keep the workbook: %w", err)
	}
	w := &workbook{temp: temp.Name()}
	n, err := io.Copy(temp, io.LimitReader(r, maxWorkbook+1))
	if err = errors.Join(err, temp.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("keep the workbook: %w", err), w.close())
	}
	if n > maxWorkbook {
		return nil, errors.Join(fmt.Errorf("%w: the workbook is larger than 256 MiB; save it as CSV", ErrSource), w.close())
	}
	w.file, err = excelize.OpenFile(w.temp, excelize.Options{
		RawCellValue: true, UnzipSizeLimit: maxUnzipped, UnzipXMLSizeLimit: maxInMemory,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: no readable workbook: %w", ErrSource, err), w.close())
	}
	return w, nil
}

func (w *workbook) close() error {
	var err error
	if w.file != nil {
		err = w.file.Close()
	}
	return errors.Join(err, os.Remove(w.temp))
}

func (w *workbook) drafts(f form, src *Source) (*tableDrafts, error) {
	var fault error
	for _, name := range w.file.GetSheetList() {
		s, err := w.sheet(name)
		if err != nil {
			continue // a chart sheet has no rows
		}
		head := top(s)
		ly := findHeader(head, f, src)
		if err := s.rows.Close(); err != nil {
			return nil, fmt.Errorf("read the workbook: %w", err)
		}
		switch {
		case ly == nil && fault == nil:
			fault = noHeader(head, f)
		case ly == nil:
		default:
			if fault = ly.check(src); fault == nil {
				return w.lay(name, ly)
			}
		}
	}
	if fault == nil {
		fault = fmt.Errorf("%w: the workbook has no sheet", ErrSource)
	}
	return nil, fault
}

// lay opens a sheet again, below its header.
func (w *workbook) lay(name string, ly *layout) (*tableDrafts, error) {
	s, err := w.sheet(name)
	if err != nil {
		return nil, fmt.Errorf("read the workbook: %w", err)
	}
	props, err := w.file.GetWorkbookProps()
	if err != nil {
		return nil, fmt.Errorf("read the workbook: %w", err)
	}
	d := &tableDrafts{rows: s, ly: ly, cells: cellReader{workbook: true, words: map[string]string{}}}
	d.cells.from1904 = props.Date1904 != nil && *props.Date1904
	return d, skipTo(s, ly.line)
}

func (w *workbook) sheet(name string) (*sheet, error) {
	rows, err := w.file.Rows(name)
	if err != nil {
		return nil, err
	}
	return &sheet{rows: rows}, nil
}

// sheet is the table of one sheet.
type sheet struct {
	rows *excelize.Rows
	line int
}

func (s *sheet) next() (cells, error) {
	for s.rows.Next() {
		s.line++
		texts, err := s.rows.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return cells{line: s.line, fault: "the workbook is damaged here"}, nil
		}
		blank := true
		for i, t := range texts {
			texts[i] = whole(t)
			blank = blank && strings.TrimSpace(t) == ""
		}
		if !blank {
			return cells{line: s.line, texts: texts}, nil
		}
	}
	if err := s.rows.Error(); err != nil {
		return cells{}, fmt.Errorf("%w: the workbook breaks off: %w", ErrSource, err)
	}
	return cells{}, io.EOF
}

// stored is how a workbook stores a number that its cell shows with fewer digits: 5.5119999999999997E+12, 10.300000000000001.
var stored = regexp.MustCompile(`^-?\d+(\.\d{10,})?(E[+-]?\d+)?$|^-?\d(\.\d+)?E[+-]?\d+$`)

// whole writes a stored number as its cell shows it, to 15 digits and without an exponent.
func whole(text string) string {
	if len(text) < 12 || !strings.ContainsAny(text, ".E") || !stored.MatchString(text) {
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', 15, 64), 64) // what FormatFloat wrote can be read
	return strconv.FormatFloat(f, 'f', -1, 64)
}
