package main

import (
	"fmt"
	"io"
)

// stdout is the standard output. It remembers the first error of a write, so that no command that lost its output ends well.
type stdout struct {
	w   io.Writer
	err error
}

// Write writes to the standard output.
func (s *stdout) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err != nil {
		err = fmt.Errorf("the output could not be written: %w", err)
	}
	if s.err == nil {
		s.err = err
	}
	return n, err
}
