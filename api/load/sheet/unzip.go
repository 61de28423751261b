package sheet

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// A workbook is a zip archive, and what reads it takes every row, text and part into memory whole: what it may hold is limited
// before, so that a small file does not fill the machine. No list that a spreadsheet program saved comes near to this.
const (
	maxWorkbook  = 256 << 20 // of the file
	maxDirectory = 1 << 20   // of the list of its parts
	maxUnzipped  = 512 << 20 // of all its parts
	maxInMemory  = 16 << 20  // of one sheet, or of the texts; a larger one lies in a temporary file while it is read
	maxSmall     = 8 << 20   // of any other part
	maxHeld      = 64 << 20  // of all parts that do not lie in temporary files
	maxRatio     = 100       // of all its parts against the file
	ratioOff     = 1 << 20   // what they may hold whatever the ratio

	maxToken  = 1 << 20   // of a tag, or of the text between two
	maxRow    = 1 << 20   // of a row with its tags, as of a line
	maxFilled = 1000      // cells of a row that hold anything
	maxCell   = 128 << 10 // of a cell, or a text that cells share: spreadsheet programs take 32,767 characters
	maxTexts  = 2 << 20   // that cells share
	maxDepth  = 100       // of elements within elements
)

// inspect holds a workbook against the limits before anything is read of it: ErrFile. It ends with ctx. It tells whether any cells
// are merged, and whether any letters are crossed out.
func inspect(ctx context.Context, name string) (found features, err error) {
	file, err := os.Open(name)
	if err != nil {
		return found, fmt.Errorf("read the workbook: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return found, fmt.Errorf("read the workbook: %w", err)
	}
	parts, err := directory(file, info.Size())
	if err != nil {
		return found, err
	}
	if err := weigh(parts, uint64(info.Size())); err != nil {
		return found, err
	}
	for _, part := range parts {
		some, err := inspectPart(ctx, part)
		if err != nil {
			return found, err
		}
		found.add(some)
	}
	return found, nil
}

// features are what a workbook has that is to be looked at cell by cell.
type features struct {
	merged   bool // cells of a sheet are merged
	struck   bool // a part of a cell's text is crossed out
	formulas bool // cells have formulas
	unvalued bool // a formula has no value
	unworked bool // the values of all formulas are to be worked out anew
}

func (f *features) add(more features) {
	f.merged, f.struck = f.merged || more.merged, f.struck || more.struck
	f.formulas, f.unvalued, f.unworked = f.formulas || more.formulas, f.unvalued || more.unvalued, f.unworked || more.unworked
}

// directory lists the parts. The list is as long as it likes, whatever it says of its length: it is read through a limit.
func directory(file io.ReaderAt, size int64) ([]*zip.File, error) {
	r := &limited{from: file, left: maxDirectory}
	z, err := zip.NewReader(r, size)
	switch {
	case r.left < 0:
		return nil, tooMuch("it has too many parts")
	case err != nil:
		return nil, unreadable(err)
	}
	if !slices.ContainsFunc(z.File, isBook) {
		return nil, fmt.Errorf("%w: it is a zip archive, and no Excel workbook (.xlsx) lies in it; of any other kind, as .ods and .numbers, save it as .xlsx or CSV", ErrFile)
	}
	r.left = maxDirectory + 2*size // every part once: some may lie over others
	return z.File, nil
}

// isBook tells the part of a workbook that names its sheets.
func isBook(part *zip.File) bool {
	name := strings.ToLower(part.Name)
	return strings.Contains(name, "workbook") && strings.HasSuffix(name, ".xml")
}

type limited struct {
	from io.ReaderAt
	left int64
}

// ReadAt reads while something is left.
func (l *limited) ReadAt(b []byte, at int64) (int, error) {
	if l.left -= int64(len(b)); l.left < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return l.from.ReadAt(b, at)
}

func tooMuch(what string) error {
	return fmt.Errorf("%w: %s; save the list as CSV", ErrFile, what)
}

func unreadable(err error) error { return fmt.Errorf("%w: no readable workbook: %w", ErrFile, err) }

// weigh adds up what the parts say of their sizes. A part that unpacks to more than it says is an error when it is unpacked.
func weigh(parts []*zip.File, size uint64) error {
	var all, held uint64
	for _, p := range parts {
		n := p.UncompressedSize64
		if all += min(n, maxUnzipped+1); all > maxUnzipped || all > ratioOff && all > maxRatio*size {
			return tooMuch("it unpacks to far more than a list takes")
		}
		if !mayBeLarge(p.Name) && n > maxSmall {
			return tooMuch("one of its parts is larger than 8 MiB and no sheet")
		}
		if n <= maxInMemory {
			held += n
		}
	}
	if held > maxHeld {
		return tooMuch("it holds too much beside its list")
	}
	return nil
}

// mayBeLarge tells the parts that excelize puts into temporary files: sheets, and the texts that they share.
func mayBeLarge(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, `\`, "/"))
	return strings.HasPrefix(name, "xl/worksheets/sheet") || name == "xl/sharedstrings.xml"
}

// inspection reads one part as the reader of workbooks will, and ends where that would take too much memory.
type inspection struct {
	from  io.Reader
	xml   *xml.Decoder
	given int64 // bytes that the decoder was given
	token int64 // where the token begins that it reads
	depth int

	cell      int   // how deep the cell, or the text for cells, lies that is read as one; 0 = none
	cellStart int64 // where it begins
	formula   formulaSpan
	row       rowSpan
	texts     int

	found features
}

// rowSpan is the row that is read.
type rowSpan struct {
	number int // rows so far
	open   bool
	start  int64
	filled int // cells that hold anything
}

// formulaSpan is what was seen of the formula in a cell.
type formulaSpan struct {
	here  bool // there is one
	text  bool // its value is a text, which may have no letters
	value bool // the value is read
	known bool // the value is not blank
}

func inspectPart(ctx context.Context, part *zip.File) (found features, err error) {
	r, err := part.Open()
	if err != nil {
		return found, unreadable(err)
	}
	wanted := &checkedReader{r, func() error { return context.Cause(ctx) }}
	s := &inspection{from: wanted}
	s.xml = xml.NewDecoder(s)
	err = s.read()
	if syntax := new(xml.SyntaxError); errors.As(err, &syntax) {
		_, err = io.Copy(io.Discard, wanted) // it is no XML, or its reader ends here: but it must have the size it says
	}
	switch {
	case err == nil:
		err = r.Close()
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case !errors.Is(err, ErrFile):
		err = unreadable(err)
	}
	return s.found, err
}

// Read gives the decoder some more, but not of a token that has no end.
func (s *inspection) Read(b []byte) (int, error) {
	if s.given-s.token > maxToken {
		return 0, s.tooLong("a single value", maxToken)
	}
	n, err := s.from.Read(b)
	s.given += int64(n)
	return n, err
}

func (s *inspection) tooLong(what string, limit int64) error {
	if s.row.open {
		what += fmt.Sprintf(" in line %d", s.row.number)
	}
	return tooMuch(fmt.Sprintf("%s is longer than %d KiB", what, limit>>10))
}

func (s *inspection) read() error {
	for {
		t, err := s.xml.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch e := t.(type) {
		case xml.StartElement:
			err = s.begin(e)
		case xml.CharData:
			s.formula.known = s.formula.known || s.formula.value && len(e) > 0
		case xml.EndElement:
			s.end(e.Name.Local)
		}
		if err != nil {
			return err
		}
		s.token = s.xml.InputOffset()
		switch {
		case s.cell > 0 && s.token-s.cellStart > maxCell:
			return s.tooLong("a cell", maxCell)
		case s.row.open && s.token-s.row.start > maxRow:
			return s.tooLong("a row", maxRow)
		}
	}
}

// begin notes an element. A row that lies in a cell begins none: it is read as a part of the cell.
func (s *inspection) begin(e xml.StartElement) error {
	name := e.Name.Local
	if s.depth++; s.depth > maxDepth {
		return tooMuch("its elements lie too deep in one another")
	}
	s.formula.value = name == "v"
	switch {
	case name == "v" || name == "is":
		if s.row.filled++; s.row.open && s.row.filled > maxFilled {
			return tooMuch(fmt.Sprintf("line %d has more than 1,000 columns", s.row.number))
		}
	case s.cell > 0:
		s.found.struck = s.found.struck || name == "strike"
		s.formula.here = s.formula.here || name == "f"
	case name == "mergeCell":
		s.found.merged = true
	case name == "calcPr":
		s.found.unworked = hasAttr(e, "fullCalcOnLoad", "1") || hasAttr(e, "fullCalcOnLoad", "true")
	case name == "row":
		s.row = rowSpan{s.row.number + 1, true, s.token, 0}
	case name == "c" || name == "si":
		s.cell, s.cellStart = s.depth, s.token
		if name == "c" {
			s.formula = formulaSpan{text: hasAttr(e, "t", "str")}
			break
		}
		if s.texts++; s.texts > maxTexts {
			return tooMuch("it has too many texts")
		}
	}
	return nil
}

func hasAttr(e xml.StartElement, name, value string) bool {
	return slices.ContainsFunc(e.Attr, func(a xml.Attr) bool { return a.Name.Local == name && a.Value == value })
}

func (s *inspection) end(name string) {
	s.formula.value = false
	switch {
	case s.cell == s.depth:
		s.cell = 0
		s.found.formulas = s.found.formulas || s.formula.here
		s.found.unvalued = s.found.unvalued || s.formula.here && !s.formula.text && !s.formula.known
		s.formula = formulaSpan{}
	case s.cell == 0 && name == "sheetData":
		s.row.open = false
	}
	s.depth--
}
