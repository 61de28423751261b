package input

import (
	"compress/gzip"
	"errors"
	"io"
)

// Limited reads at most so many bytes: errTooLarge.
type Limited struct {
	From  io.Reader
	Count int64
	Left  int64
}

// Read reads some more.
func (r *Limited) Read(p []byte) (int, error) {
	if r.Left < 0 {
		return 0, ErrTooLarge
	}
	n, err := r.From.Read(p[:min(int64(len(p)), r.Left+1)])
	r.Count += int64(n)
	if r.Left -= int64(n); r.Left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}

// Inflate decompresses what came in: errTooLarge, errRatio.
func Inflate(raw *Limited) (io.Reader, error) {
	z, err := gzip.NewReader(raw)
	if err != nil {
		return nil, ErrBroken
	}
	return &Inflated{Plain: z, Raw: raw}, nil
}

type Inflated struct {
	Plain io.Reader
	Raw   *Limited
	read  int64
}

// Read reads some more.
func (r *Inflated) Read(p []byte) (int, error) {
	n, err := r.Plain.Read(p)
	switch r.read += int64(n); {
	case r.read > MaxSize:
		return 0, ErrTooLarge
	case r.read > ratioOff && r.read > maxRatio*r.Raw.Count:
		return 0, ErrRatio
	case err != nil && !errors.Is(err, io.EOF):
		return n, ErrBroken
	}
	return n, err
}
