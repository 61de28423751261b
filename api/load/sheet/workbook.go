package sheet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"doorward/api/load/cells"

	"github.com/xuri/excelize/v2"
)

// Sheet is the table of one sheet.
type Sheet struct {
	Ctx   context.Context
	Rows  *excelize.Rows
	Shown *excelize.Rows // the same as the cells are shown; nil while the header is looked for
	Codes []int          // the columns that are read as they are shown
	line  int
}

func (s *Sheet) Close() error {
	err := s.Rows.Close()
	if s.Shown != nil {
		err = errors.Join(err, s.Shown.Close())
	}
	return err
}

func (s *Sheet) Next() (Row, error) {
	for s.Rows.Next() {
		if s.Ctx.Err() != nil {
			return Row{}, context.Cause(s.Ctx)
		}
		s.line++
		texts, err := s.Rows.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return Row{Line: s.line, Fault: "the workbook is damaged here"}, nil
		}
		at, fault, err := s.display(texts)
		if err != nil {
			return Row{Line: s.line, Fault: "the workbook is damaged here"}, nil
		}
		blank, size := true, 0
		for i, t := range texts {
			size += len(t)
			texts[i] = whole(t)
			blank = blank && strings.TrimSpace(t) == ""
		}
		if size > maxRow {
			return Row{Line: s.line, Fault: faultLong}, nil
		}
		if !blank {
			return Row{Line: s.line, Texts: texts, At: at, Fault: fault}, nil
		}
	}
	if err := s.Rows.Error(); err != nil {
		return Row{}, fmt.Errorf("%w: the workbook breaks off: %w", ErrFile, err)
	}
	return Row{}, io.EOF
}

// display puts codes as their cells show them, 000042 for 42. A number that is shown in scientific notation merely lacks a
// format: it stays as it is stored, if all its digits are.
func (s *Sheet) display(texts []string) (at int, fault string, err error) {
	if s.Shown == nil || !s.Shown.Next() {
		return 0, "", nil
	}
	shown, err := s.Shown.Columns(excelize.Options{})
	if err != nil {
		return 0, "", err
	}
	for _, c := range s.Codes {
		if c >= min(len(texts), len(shown)) || texts[c] == shown[c] {
			continue
		}
		switch {
		case (texts[c] == "0" || texts[c] == "1") && (shown[c] == "TRUE" || shown[c] == "FALSE"):
			at, fault = c, "yes or no, where a code is wanted"
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
