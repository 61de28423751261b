package sheet

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Rows is a file of rows and columns. next answers io.EOF after the last row.
type Rows interface {
	Next() (Row, error)
	Close() error
}

// Spool keeps a source in a temporary file: an import reads it once to choose the columns, and again to write. What a workbook is unpacked to
// lies beside it.
type Spool struct {
	Name string
	book io.Closer // nil = it was not opened as a workbook
}

// Close ends the reading of the source.
func (s *Spool) Close() error {
	if s.book == nil {
		return nil
	}
	return s.book.Close()
}

// NewSpool reads a source into a file in a folder, which is the caller's to remove. It ends with ctx. It asks for room before each write.
func NewSpool(ctx context.Context, dir string, r io.Reader, room func() error) (*Spool, error) {
	temp, err := os.OpenFile(filepath.Join(dir, "source"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep the file: %w", err)
	}
	_, err = io.Copy(temp, &checkedReader{r, func() error { return cmp.Or(context.Cause(ctx), room()) }})
	if err = errors.Join(err, temp.Close()); err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return &Spool{Name: temp.Name()}, nil
}

// checkedReader reads while a check finds no fault.
type checkedReader struct {
	from  io.Reader
	check func() error
}

// Read reads some more.
func (c *checkedReader) Read(b []byte) (int, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	return c.from.Read(b)
}

// Open reads the source from its beginning.
func (s *Spool) Open() (*bufio.Reader, io.Closer, error) {
	f, err := os.Open(s.Name)
	if err != nil {
		return nil, nil, fmt.Errorf("read the file: %w", err)
	}
	return bufio.NewReaderSize(f, HeadSize), f, nil
}

// HeaderRows is how many rows from the top are looked at for the header.
const HeaderRows = 50

// IsBinary tells bytes that stand in no text of any encoding that is read.
func IsBinary(head []byte) bool {
	if _, ok := wide(head); ok {
		return false
	}
	odd := 0
	for _, b := range head {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' && b != '\f' {
			odd++
		}
	}
	return odd > len(head)/20
}

// FirstByte is the first byte of the text that is no white space; 0 where the head has none.
func (l *Lines) FirstByte() byte {
	head, _ := l.r.Peek(HeadSize)
	if t := bytes.TrimLeft(head, " \t\r\n"); len(t) > 0 {
		return t[0]
	}
	return 0
}

// Probe reads the head of the text without taking it.
func (l *Lines) Probe() *Lines {
	head, err := l.r.Peek(HeadSize)
	if cut := bytes.LastIndexByte(head, l.end); err == nil && cut >= 0 {
		head = head[:cut+1] // the last line may be cut short
	}
	return &Lines{r: bufio.NewReader(bytes.NewReader(head)), end: l.end, utf8: l.utf8, legacy: l.legacy}
}

// Check reads the head of the text, and returns its fault if it cannot be read.
func (l *Lines) Check() error {
	head := l.Probe()
	for {
		switch _, err := head.Next(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// MaxColumns is how many columns a list may have.
const MaxColumns = 1000

// Separators are those to try: all, or the one that the first line names as spreadsheets do ("sep=;").
func Separators(in *Lines) []byte {
	if ln, err := in.Probe().Next(); err == nil {
		if sep, ok := strings.CutPrefix(ln.Text, "sep="); ok && len(sep) == 1 {
			return []byte(sep)
		}
	}
	return []byte{',', ';', '\t', '|'}
}

// Top reads the rows that the header is looked for in.
func Top(t Rows) (out []Row) {
	for len(out) < HeaderRows {
		row, err := t.Next()
		if err != nil {
			break
		}
		out = append(out, row)
	}
	return out
}

// SkipTo reads up to the header.
func SkipTo(t Rows, line int) error {
	for {
		row, err := t.Next()
		if err != nil || row.Line == line {
			return err
		}
	}
}
