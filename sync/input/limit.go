package input

import (
	"compress/gzip"
	"errors"
	"io"
)

// Limited is a body that may hold MaxSize bytes.
type Limited struct {
	from io.Reader
	read int64
}

// Limit limits a body.
func Limit(from io.Reader) *Limited { return &Limited{from: from} }

// Read returns ErrTooLarge for what is beyond the limit.
func (r *Limited) Read(p []byte) (int, error) {
	if r.read > MaxSize {
		return 0, ErrTooLarge
	}
	n, err := r.from.Read(p[:min(int64(len(p)), MaxSize+1-r.read)])
	if r.read += int64(n); r.read > MaxSize {
		return 0, ErrTooLarge
	}
	return n, err
}

// Gzip decompresses the body. It returns ErrBroken if the body is not gzip.
func (r *Limited) Gzip() (io.Reader, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, ErrBroken
	}
	return r.Inflated(z), nil
}

// Inflated limits what the body says once it is decompressed, which plain reads.
func (r *Limited) Inflated(plain io.Reader) io.Reader { return &inflated{plain: plain, raw: r} }

// inflated is a decompressed body.
type inflated struct {
	plain io.Reader
	raw   *Limited
	read  int64
}

// Read returns ErrTooLarge and ErrRatio for what is beyond the limits, and ErrBroken if the body does not decompress.
func (r *inflated) Read(p []byte) (int, error) {
	n, err := r.plain.Read(p)
	switch r.read += int64(n); {
	case r.read > MaxSize:
		return 0, ErrTooLarge
	case r.read > ratioOff && r.read > maxRatio*r.raw.read:
		return 0, ErrRatio
	case err != nil && !errors.Is(err, io.EOF):
		return n, ErrBroken
	}
	return n, err
}
