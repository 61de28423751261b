package barcode

import (
	"context"
	"time"
)

// Format is a kind of code.
type Format string

// The formats that are read.
const (
	QR         Format = "qr"
	DataMatrix Format = "data_matrix"
	Code128    Format = "code_128"
	EAN        Format = "ean"
)

// Code is one code in a picture.
type Code struct {
	Text   string `json:"text"`
	Format Format `json:"format"`
}

// Reader reads pictures, few at once.
type Reader struct {
	turns    chan struct{}
	patience time.Duration // how long one picture is searched
}

// NewReader makes a reader of at most atOnce pictures at a time. Others wait.
func NewReader(atOnce int) *Reader { return &Reader{make(chan struct{}, atOnce), patience} }

// Read returns the codes of a JPEG or PNG picture, none where it shows none. It returns ErrNoPicture for other bytes, ErrTooLarge for a picture
// that would take too much memory, and the context's error if that ends before the picture has its turn.
func (r *Reader) Read(ctx context.Context, picture []byte) ([]Code, error) {
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	g, err := luminance(picture)
	if err != nil {
		return nil, err
	}
	return climb(g, r.patience), nil
}
