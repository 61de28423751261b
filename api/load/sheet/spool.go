package sheet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Spool keeps a source in a temporary file: an import reads it once to choose the columns, and again to write.
type Spool struct{ Name string }

// NewSpool reads a source into a temporary file. It ends with ctx.
func NewSpool(ctx context.Context, r io.Reader) (*Spool, error) {
	temp, err := os.CreateTemp("", "doorward-import-*")
	if err != nil {
		return nil, fmt.Errorf("keep the file: %w", err)
	}
	s := &Spool{Name: temp.Name()}
	_, err = io.Copy(temp, &untilDone{ctx: ctx, from: r})
	if err = errors.Join(err, temp.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("read the file: %w", err), s.Remove())
	}
	return s, nil
}

// Remove removes the temporary file.
func (s *Spool) Remove() error { return os.Remove(s.Name) }

// Open reads the source from its beginning.
func (s *Spool) Open() (*bufio.Reader, io.Closer, error) {
	f, err := os.Open(s.Name)
	if err != nil {
		return nil, nil, fmt.Errorf("read the file: %w", err)
	}
	return bufio.NewReaderSize(f, HeadSize), f, nil
}
