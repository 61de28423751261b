package console

import (
	"fmt"
	"io"
)

// Output is the standard output. It remembers the first error of a write, so that a command that lost its output fails.
type Output struct {
	w   io.Writer
	err error
}

// NewOutput returns an Output that writes to w.
func NewOutput(w io.Writer) *Output { return &Output{w: w} }

// Write writes to the standard output.
func (o *Output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil {
		err = fmt.Errorf("the output could not be written: %w", err)
	}
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// Err is the first error of a write; nil = there was none.
func (o *Output) Err() error { return o.err }
