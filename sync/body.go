package sync

import (
	"io"
	"net/http"
	"strings"

	"doorward/sync/input"

	"github.com/go-json-experiment/json/jsontext"
)

// body returns the request's body, decompressed and limited.
func (c *call) body() (io.Reader, error) {
	raw := input.Limit(c.request.Body)
	switch strings.ToLower(c.request.Header.Get("Content-Encoding")) {
	case "", "identity":
		if c.request.ContentLength > input.MaxSize {
			return nil, input.ErrTooLarge
		}
		return raw, nil
	case "gzip":
		return raw.Gzip()
	}
	return nil, errPacked
}

// decoder decodes a body that must be JSON. Errors of single documents are found later.
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

// decode decodes JSON of the body, or of a part of it.
func (c *call) decode(r io.Reader) *jsontext.Decoder {
	c.values = input.NewValues(r)
	return c.values.Decoder()
}

// isJSON tells whether a request says that its body is JSON.
func isJSON(h http.Header) bool {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/json")
}

// maxSmall is the largest body of a request between our own nodes that holds no documents.
const maxSmall = 1 << 20
