package sheet

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
)

// inspection reads one part as the reader of workbooks will, and ends where that would take too much memory.
type inspection struct {
	from  io.Reader
	xml   *xml.Decoder
	given int64 // bytes that the decoder was given
	token int64 // where the token begins that it reads
	depth int

	cell      int   // how deep the cell, or the text for cells, lies that is read as one; 0 = none
	cellStart int64 // where it begins
	row       rowSpan
	texts     int

	merged bool // cells of a sheet are merged
}

// rowSpan is the row that is read.
type rowSpan struct {
	number int // rows so far
	open   bool
	start  int64
	filled int // cells that hold anything
}

// inspectPart also tells whether cells of the part are merged.
func inspectPart(ctx context.Context, part *zip.File) (merged bool, err error) {
	r, err := part.Open()
	if err != nil {
		return false, unreadable(err)
	}
	wanted := &untilDone{ctx: ctx, from: r}
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
	return s.merged, err
}

// untilDone reads until its context ends.
type untilDone struct {
	ctx  context.Context
	from io.Reader
}

// Read reads some more.
func (u *untilDone) Read(b []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.from.Read(b)
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
			err = s.begin(e.Name.Local)
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
func (s *inspection) begin(name string) error {
	if s.depth++; s.depth > maxDepth {
		return tooMuch("its elements lie too deep in one another")
	}
	switch {
	case name == "v" || name == "is":
		if s.row.filled++; s.row.open && s.row.filled > maxFilled {
			return tooMuch(fmt.Sprintf("line %d has more than 1,000 columns", s.row.number))
		}
	case s.cell > 0:
	case name == "mergeCell":
		s.merged = true
	case name == "row":
		s.row = rowSpan{s.row.number + 1, true, s.token, 0}
	case name == "c" || name == "si":
		s.cell, s.cellStart = s.depth, s.token
		if name == "c" {
			break
		}
		if s.texts++; s.texts > maxTexts {
			return tooMuch("it has too many texts")
		}
	}
	return nil
}

func (s *inspection) end(name string) {
	switch {
	case s.cell == s.depth:
		s.cell = 0
	case s.cell == 0 && name == "sheetData":
		s.row.open = false
	}
	s.depth--
}
