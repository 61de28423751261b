package input

import (
	"io"

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
