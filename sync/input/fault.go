package input

import (
	"errors"
	"fmt"
	"io"

	"doorward/kv/value"

	"github.com/go-json-experiment/json/jsontext"
)

// Fault is where a body, or a document in it, stops being JSON as it is wanted. Line and Column count from 1; columns are characters.
type Fault struct {
	What         string // "body" or "document"
	Line, Column int
	Reason       string
	Err          error // what the fault is one of
}

// Error says where the fault is, and nothing of what a text holds.
func (f *Fault) Error() string {
	return fmt.Sprintf("the %s is not a JSON object: line %d, column %d: %s", f.What, f.Line, f.Column, f.Reason)
}

// Unwrap returns what the fault is one of.
func (f *Fault) Unwrap() error { return f.Err }

// faultAt makes a Fault of a body, or of a part of it that begins at from.
func faultAt(body io.ReaderAt, what string, from, at int64, reason string, cause error) (fault, failed error) {
	f := &Fault{What: what, Line: 1, Column: 1, Reason: reason, Err: cause}
	buf := make([]byte, 32<<10)
	for from < at {
		some := buf[:min(int64(len(buf)), at-from)]
		if n, err := body.ReadAt(some, from); n < len(some) {
			return nil, err
		}
		from += int64(len(some))
		for _, c := range some {
			switch {
			case c == '\n':
				f.Line, f.Column = f.Line+1, 1
			case c&0xC0 != 0x80: // the first byte of a character
				f.Column++
			}
		}
	}
	return f, nil
}

// reasonOf returns where a decoder has stopped, and why; ok is false if the fault is not one of the JSON.
func reasonOf(err error) (at int64, reason string, ok bool) {
	wrong, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return 0, "", false
	}
	return wrong.ByteOffset, value.Reason(wrong), true
}
