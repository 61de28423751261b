package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// spool keeps a source in a temporary file: an import reads it once to choose the columns, and again to write.
type spool struct{ name string }

func newSpool(ctx context.Context, r io.Reader) (*spool, error) {
	temp, err := os.CreateTemp("", "doorward-import-*")
	if err != nil {
		return nil, fmt.Errorf("keep the file: %w", err)
	}
	s := &spool{name: temp.Name()}
	_, err = io.Copy(temp, &untilDone{ctx: ctx, from: r})
	if err = errors.Join(err, temp.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("read the file: %w", err), s.remove())
	}
	return s, nil
}

func (s *spool) remove() error { return os.Remove(s.name) }

// open reads the source from its beginning.
func (s *spool) open() (*bufio.Reader, io.Closer, error) {
	f, err := os.Open(s.name)
	if err != nil {
		return nil, nil, fmt.Errorf("read the file: %w", err)
	}
	return bufio.NewReaderSize(f, headSize), f, nil
}
