package sync

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"doorward/kv"

	"github.com/go-json-experiment/json/jsontext"
)

// The limits of a request's body. What a compressed one holds counts, and it may hold a hundred times its own size.
const (
	maxBody  = 64 << 20
	maxRatio = 100
	maxValue = kv.MaxDoc + kv.MaxDoc/2 // of one value: white space and escapes may still go
	ratioOff = maxValue                // what may be held whatever the ratio: one document, be it a single letter a million times
)

// body is a request's body as it was meant: decompressed, limited, never slower than patience.
func (c *call) body() (io.Reader, error) {
	raw := &counted{from: c.request.Body, left: maxBody}
	switch strings.ToLower(c.request.Header.Get("Content-Encoding")) {
	case "", "identity":
		if c.request.ContentLength > maxBody {
			return nil, errTooLarge
		}
		return raw, nil
	case "gzip":
		return inflate(raw)
	}
	return nil, errMedia
}

// counted reads at most so many bytes: errTooLarge.
type counted struct {
	from io.Reader
	read int64
	left int64
}

// Read reads some more.
func (r *counted) Read(p []byte) (int, error) {
	if r.left < 0 {
		return 0, errTooLarge
	}
	n, err := r.from.Read(p[:min(int64(len(p)), r.left+1)])
	r.read += int64(n)
	if r.left -= int64(n); r.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// inflate decompresses what came in: errTooLarge, errRatio.
func inflate(raw *counted) (io.Reader, error) {
	z, err := gzip.NewReader(raw)
	if err != nil {
		return nil, errBroken
	}
	return &inflated{plain: z, raw: raw}, nil
}

type inflated struct {
	plain io.Reader
	raw   *counted
	read  int64
}

// Read reads some more.
func (r *inflated) Read(p []byte) (int, error) {
	n, err := r.plain.Read(p)
	switch r.read += int64(n); {
	case r.read > maxBody:
		return 0, errTooLarge
	case r.read > ratioOff && r.read > maxRatio*r.raw.read:
		return 0, errRatio
	case err != nil && !errors.Is(err, io.EOF):
		return n, errBroken
	}
	return n, err
}

// decoder reads a body that must be JSON. What is wrong within single documents is found later, one by one.
func (c *call) decoder() (*jsontext.Decoder, error) {
	if !isJSON(c.request.Header) {
		return nil, errMedia
	}
	return c.anyDecoder()
}

func (c *call) anyDecoder() (*jsontext.Decoder, error) {
	r, err := c.body()
	if err != nil {
		return nil, err
	}
	return c.decode(r), nil
}

// decode reads JSON out of the body, or a part of it.
func (c *call) decode(r io.Reader) *jsontext.Decoder {
	c.values = &bounded{from: r}
	c.values.into = newDecoder(c.values)
	return c.values.into
}

// bounded is the body behind a decoder that keeps no value larger than a document may be, but what it is told to.
type bounded struct {
	from  io.Reader
	into  *jsontext.Decoder
	read  int64
	large bool // an attachment may come, which can be as large as the request
}

// Read reads some more: errTooLarge where the value that is being read is.
func (b *bounded) Read(p []byte) (int, error) {
	if !b.large && b.read-b.into.InputOffset() > maxValue {
		return 0, errTooLarge
	}
	n, err := b.from.Read(p)
	b.read += int64(n)
	return n, err
}

func newDecoder(r io.Reader) *jsontext.Decoder {
	return jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// isJSON tells whether a request calls its body JSON.
func isJSON(h http.Header) bool {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/json")
}

// badBody is what is wrong with a body that could not be read: its size, how it came, or what it says.
func badBody(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTooLarge), errors.Is(err, errRatio), errors.Is(err, errBroken):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errBroken
	}
	return fmt.Errorf("%w: %w", errJSON, err)
}

// eachMember calls fn with every member of the object that comes next; fn reads its value.
func eachMember(dec *jsontext.Decoder, fn func(name string) error) error {
	if dec.PeekKind() != '{' {
		_, err := dec.ReadToken()
		return orNotJSON(err)
	}
	_, _ = dec.ReadToken() // it has been seen
	for {
		t, err := dec.ReadToken()
		if err != nil {
			return badBody(err)
		}
		if t.Kind() == '}' {
			return nil
		}
		if err := fn(t.String()); err != nil {
			return err
		}
	}
}

// eachItem calls fn before every item of the list that comes next; fn reads it.
func eachItem(dec *jsontext.Decoder, fn func() error) error {
	if dec.PeekKind() != '[' {
		_, err := dec.ReadToken()
		return orNotJSON(err)
	}
	_, _ = dec.ReadToken() // it has been seen
	for dec.PeekKind() != ']' {
		if err := fn(); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return badBody(err)
}

// orNotJSON is errShape where reading itself went well.
func orNotJSON(err error) error {
	if err == nil {
		return errShape
	}
	return badBody(err)
}

// texts reads a list of texts.
func texts(dec *jsontext.Decoder) (list []string, err error) {
	list = []string{}
	err = eachItem(dec, func() error {
		t, err := dec.ReadToken()
		if err != nil {
			return badBody(err)
		}
		if t.Kind() != '"' {
			return errShape
		}
		list = append(list, t.String())
		return nil
	})
	return list, err
}
