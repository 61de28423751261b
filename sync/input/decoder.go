package input

import (
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Values is the body behind a decoder that keeps no value larger than a document may be, but what it is told to.
type Values struct {
	From  io.Reader
	Into  *jsontext.Decoder
	read  int64
	Large bool // an attachment may come, which can be as large as the request
}

// Read reads some more: errTooLarge where the value that is being read is.
func (b *Values) Read(p []byte) (int, error) {
	if !b.Large && b.read-b.Into.InputOffset() > MaxValue {
		return 0, ErrTooLarge
	}
	n, err := b.From.Read(p)
	b.read += int64(n)
	return n, err
}
