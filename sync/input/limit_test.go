package input

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"doorward/kv/kvtest/proof"
)

// TestBodiesHaveLimits: of what comes in, of what it says once it is decompressed, and of the ratio of the two.
func TestBodiesHaveLimits(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	for name, c := range map[string]struct {
		body   io.Reader
		zipped bool
		want   error
	}{
		"as large as it may be":                {io.LimitReader(zeros{}, MaxSize), false, nil},
		"larger":                               {io.LimitReader(zeros{}, MaxSize+1), false, ErrTooLarge},
		"compressed, and little":               {zip(t, io.LimitReader(zeros{}, ratioOff)), true, nil},
		"compressed more than a hundred times": {zip(t, io.LimitReader(zeros{}, ratioOff+1<<20)), true, ErrRatio},
		"compressed, and larger":               {zip(t, io.LimitReader(&noise{}, MaxSize+1)), true, ErrTooLarge},
		"not compressed at all":                {bytes.NewReader([]byte("plain")), true, ErrBroken},
	} {
		var r io.Reader = Limit(c.body)
		var err error
		if c.zipped {
			r, err = Limit(c.body).Gzip()
		}
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if !errors.Is(err, c.want) {
			t.Errorf("a body %s = %v, want %v", name, err, c.want)
		}
	}
}

// zeros never end.
type zeros struct{}

// Read reads zeros.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// noise never ends, and compresses about eight times.
type noise struct{ rnd rand.PCG }

// Read reads noise with gaps.
func (n *noise) Read(p []byte) (int, error) {
	clear(p)
	for i := 0; i < len(p); i += 16 {
		p[i] = byte(n.rnd.Uint64())
	}
	return len(p), nil
}

// zip compresses a body.
func zip(t *testing.T, from io.Reader) io.Reader {
	var to bytes.Buffer
	z := gzip.NewWriter(&to)
	if _, err := io.Copy(z, from); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &to
}
