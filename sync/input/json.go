package input

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json/jsontext"
)

// Values are the JSON values of a body. Each may be as large as a document may be.
type Values struct {
	Large bool // the next may be as large as the whole body: it holds attachments

	from io.Reader
	dec  *jsontext.Decoder
	read int64
}

// NewValues reads values from a body.
func NewValues(from io.Reader) *Values {
	v := &Values{from: from}
	v.dec = NewDecoder(v)
	return v
}

// Decoder decodes the values.
func (v *Values) Decoder() *jsontext.Decoder { return v.dec }

// LimitDepth replaces what lies too deep by 0, so that only its own document is refused. Nothing may be read before.
func (v *Values) LimitDepth() { v.from = &depthLimit{from: v.from} }

// Read reads for the decoder. It returns ErrTooLarge if the present value is too large.
func (v *Values) Read(p []byte) (int, error) {
	if !v.Large && v.read-v.dec.InputOffset() > MaxValue {
		return 0, ErrTooLarge
	}
	n, err := v.from.Read(p)
	v.read += int64(n)
	return n, err
}

// NewDecoder makes a decoder that takes duplicate names and text that is not UTF-8, as CouchDB does.
func NewDecoder(r io.Reader) *jsontext.Decoder {
	return jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Wrap returns what a client is told of an error of reading: the body's size, its encoding, or ErrJSON.
func Wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrRatio), errors.Is(err, ErrBroken):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrBroken
	}
	return fmt.Errorf("%w: %w", ErrJSON, err)
}

// EachMember calls fn with each member of the object that comes next. fn reads its value.
func EachMember(dec *jsontext.Decoder, fn func(name string) error) error {
	if dec.PeekKind() != '{' {
		_, err := dec.ReadToken()
		return orShape(err)
	}
	_, _ = dec.ReadToken() // it has been seen
	for {
		t, err := dec.ReadToken()
		if err != nil {
			return Wrap(err)
		}
		if t.Kind() == '}' {
			return nil
		}
		if err := fn(t.String()); err != nil {
			return err
		}
	}
}

// EachItem calls fn before each item of the list that comes next. fn reads it.
func EachItem(dec *jsontext.Decoder, fn func() error) error {
	if dec.PeekKind() != '[' {
		_, err := dec.ReadToken()
		return orShape(err)
	}
	_, _ = dec.ReadToken() // it has been seen
	for dec.PeekKind() != ']' {
		if err := fn(); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return Wrap(err)
}

// orShape returns ErrShape if reading itself succeeded.
func orShape(err error) error {
	if err == nil {
		return ErrShape
	}
	return Wrap(err)
}

// Texts reads a list of texts.
func Texts(dec *jsontext.Decoder) (list []string, err error) {
	list = []string{}
	err = EachItem(dec, func() error {
		t, err := dec.ReadToken()
		if err != nil {
			return Wrap(err)
		}
		if t.Kind() != '"' {
			return ErrShape
		}
		list = append(list, t.String())
		return nil
	})
	return list, err
}

// Trailing returns ErrJSON if something follows the value that was read.
func Trailing(dec *jsontext.Decoder) error {
	if dec.PeekKind() != 0 {
		return ErrJSON
	}
	return nil
}
