package input

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"doorward/kv/merge"

	"github.com/go-json-experiment/json/jsontext"
)

// What can be wrong with a body.
var (
	ErrJSON     = errors.New("the body is not JSON as it is wanted")
	ErrShape    = fmt.Errorf("%w: of another shape", ErrJSON)
	ErrTooLarge = errors.New("the request is too large")
	ErrRatio    = errors.New("the request is compressed too much")
	ErrBroken   = errors.New("the request could not be read")
	ErrItems    = fmt.Errorf("%w: its lists have more than %d items", ErrTooLarge, MaxItems)
)

// The limits of a body. They hold for the decompressed body too, and it may be a hundred times as large as the compressed one.
const (
	MaxSize  = 64 << 20
	MaxPush  = 4 << 30                       // of one that is not kept in memory: documents, attachments
	MaxItems = 100_000                       // of all its lists
	MaxValue = merge.MaxDoc + merge.MaxDoc/2 // of one value: white space and escapes do not count for a document
	maxRatio = 100
)

// From where on the ratio of a compressed body is looked at. Lines of our own nodes, and attachments, may be one letter a million times.
const (
	RatioFrom      = 1 << 20
	RatioFromLines = MaxValue
)

// Items counts the items of a request's lists.
type Items int

// Add counts n more. It returns ErrItems if they are too many.
func (all *Items) Add(n int) error {
	if *all += Items(n); *all > MaxItems {
		return ErrItems
	}
	return nil
}

// CountItems returns at least how many items the lists and objects of a value have.
func CountItems(v []byte) (n int) {
	text := false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			text = !text
		case text && c == '\\':
			i++
		case !text && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// Values are the JSON values of a body. Each may be as large as a document may be.
type Values struct {
	Large bool // the next may be as large as the whole body: it holds attachments

	from io.Reader
	dec  *jsontext.Decoder
	read int64
}

// NewValues reads values from a body. Text that is not UTF-8 is no JSON; an object may have a name twice, as at CouchDB.
func NewValues(from io.Reader) *Values {
	v := &Values{from: from}
	v.dec = jsontext.NewDecoder(v, jsontext.AllowDuplicateNames(true))
	return v
}

// Decoder decodes the values.
func (v *Values) Decoder() *jsontext.Decoder { return v.dec }

// Reset begins to read another body, with the options of a decoder.
func (v *Values) Reset(from io.Reader, options ...jsontext.Options) {
	v.from, v.read = from, 0
	v.dec.Reset(v, options...)
}

// Shallow passes JSON on and replaces what lies too deep for a document by 0: a decoder gives up at some depth.
func Shallow(from io.Reader) io.Reader { return &depthLimit{from: from} }

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
	if err := enter(dec, '{'); err != nil {
		return err
	}
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
	if err := enter(dec, '['); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		if err := fn(); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return Wrap(err)
}

// enter reads the beginning of an object or of a list. It returns ErrShape if something else comes next.
func enter(dec *jsontext.Decoder, begin jsontext.Kind) error {
	t, err := dec.ReadToken()
	if err == nil && t.Kind() != begin {
		return ErrShape
	}
	return Wrap(err)
}

// Texts reads a list of texts.
func Texts(dec *jsontext.Decoder) (list []string, err error) {
	return CountedTexts(dec, nil)
}

// CountedTexts is Texts of a request, which counts them among the items of its lists.
func CountedTexts(dec *jsontext.Decoder, all *Items) (list []string, err error) {
	list = []string{}
	err = EachItem(dec, func() error {
		if all != nil {
			if err := all.Add(1); err != nil {
				return err
			}
		}
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

// Trailing reads to the end of the input. It returns an error if something follows the value that was read, or if the end is not a whole one: a
// body that broke off, a checksum that is wrong.
func Trailing(dec *jsontext.Decoder) error {
	_, err := dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return ErrJSON
	}
	return Wrap(err)
}

// WholeObject is EachMember of an object after which nothing follows.
func WholeObject(dec *jsontext.Decoder, fn func(name string) error) error {
	err := EachMember(dec, fn)
	if err == nil {
		err = Trailing(dec)
	}
	return err
}

// Limited is a body that may hold so many bytes.
type Limited struct {
	from io.Reader
	most int64
	read int64
}

// Limit limits a body.
func Limit(from io.Reader, most int64) *Limited { return &Limited{from: from, most: most} }

// Read returns ErrTooLarge for what is beyond the limit.
func (r *Limited) Read(p []byte) (int, error) {
	if r.read > r.most {
		return 0, ErrTooLarge
	}
	n, err := r.from.Read(p[:min(int64(len(p)), r.most+1-r.read)])
	if r.read += int64(n); r.read > r.most {
		return 0, ErrTooLarge
	}
	return n, err
}

// Gzip decompresses the body, and looks at the ratio from a size on. It returns ErrBroken if the body is not gzip.
func (r *Limited) Gzip(ratioFrom int64) (io.Reader, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, ErrBroken
	}
	return r.Inflated(z, ratioFrom), nil
}

// Inflated limits what the body says once it is decompressed, which plain reads.
func (r *Limited) Inflated(plain io.Reader, ratioFrom int64) io.Reader {
	return &inflated{plain: plain, raw: r, ratioFrom: ratioFrom}
}

// inflated is a decompressed body.
type inflated struct {
	plain     io.Reader
	raw       *Limited
	read      int64
	ratioFrom int64
}

// Read returns ErrTooLarge and ErrRatio for what is beyond the limits, and ErrBroken if the body does not decompress.
func (r *inflated) Read(p []byte) (int, error) {
	n, err := r.plain.Read(p)
	switch r.read += int64(n); {
	case r.read > r.raw.most:
		return 0, ErrTooLarge
	case r.read > r.ratioFrom && r.read > maxRatio*r.raw.read:
		return 0, ErrRatio
	case err != nil && !errors.Is(err, io.EOF):
		return n, ErrBroken
	}
	return n, err
}

// deepest is deeper than any document may be, with what a request has around it.
const deepest = merge.MaxDocDepth + 10

// depthLimit passes JSON on and writes 0 in the place of each value that lies too deep for a document. A decoder gives up at that depth,
// and would lose the documents beside it.
type depthLimit struct {
	from    io.Reader
	depth   int
	text    bool // within a text
	escaped bool // behind a backslash there
}

// Read reads some more.
func (s *depthLimit) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		if s.text {
			rest = rest[s.passText(rest):]
		} else {
			rest = rest[s.pass(rest):]
		}
	}
	return n, err
}

// pass goes to the next text, and returns how far that is.
func (s *depthLimit) pass(b []byte) int {
	for i, c := range b {
		deep := s.depth > deepest
		switch c {
		case '"':
			s.text = true
		case '{', '[':
			s.depth++
		case '}', ']':
			s.depth--
		}
		switch {
		case deep:
			b[i] = ' '
		case s.depth > deepest:
			b[i] = '0'
		}
		if s.text {
			return i + 1
		}
	}
	return len(b)
}

// passText goes beyond the end of a text, and returns how far that is.
func (s *depthLimit) passText(b []byte) (n int) {
	for n < len(b) && s.text {
		if s.escaped {
			s.escaped = false
			n++
			continue
		}
		rest := b[n:]
		if end := bytes.IndexByte(rest, '"'); end >= 0 {
			rest = rest[:end+1]
		}
		if at := bytes.IndexByte(rest, '\\'); at >= 0 {
			s.escaped = true
			rest = rest[:at+1]
		}
		n += len(rest)
		s.text = s.escaped || b[n-1] != '"'
	}
	if s.depth > deepest {
		for i := range b[:n] {
			b[i] = ' '
		}
	}
	return n
}
