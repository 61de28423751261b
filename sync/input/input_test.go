package input

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"doorward/kv/kvtest/proof"

	"github.com/go-json-experiment/json/jsontext"
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
		"compressed, and little":               {zip(t, io.LimitReader(zeros{}, RatioFrom)), true, nil},
		"compressed more than a hundred times": {zip(t, io.LimitReader(zeros{}, RatioFrom+1)), true, ErrRatio},
		"compressed, and larger":               {zip(t, io.LimitReader(&noise{}, MaxSize+1)), true, ErrTooLarge},
		"not compressed at all":                {bytes.NewReader([]byte("plain")), true, ErrBroken},
	} {
		var r io.Reader = Limit(c.body, MaxSize)
		var err error
		if c.zipped {
			r, err = Limit(c.body, MaxSize).Gzip(RatioFrom)
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

// TestShallowLeavesWhatIsNoDeeper: JSON that a document may be comes through as it is, however it is cut; what is deeper comes through
// as JSON that is too deep, with all that stands beside it.
func TestShallowLeavesWhatIsNoDeeper(t *testing.T) {
	nested := func(n int, within string) string {
		return strings.Repeat(`[{"a\\":`, n/2) + within + strings.Repeat(`},2]`, n/2)
	}
	for _, text := range []string{
		`{"a":"}]\"[","b":["\\",{"c":"\\\""}],"d":"é"}`,
		nested(deepest, `"[{"`),
		strings.Repeat(" \"\\\"\" ", 100),
	} {
		for _, cut := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.HalfReader} {
			got, err := io.ReadAll(&depthLimit{from: cut(strings.NewReader(text))})
			if err != nil || string(got) != text {
				t.Errorf("%.40q came through as %.40q, %v", text, got, err)
			}
		}
	}
	deep := `{"deep":` + nested(20_000, `"]}\"{["`) + `,"beside":"}]"}`
	got, err := io.ReadAll(&depthLimit{from: iotest.OneByteReader(strings.NewReader(deep))})
	if err != nil || len(got) != len(deep) {
		t.Fatalf("%d bytes came through as %d, %v", len(deep), len(got), err)
	}
	dec := jsontext.NewDecoder(bytes.NewReader(got))
	if err := dec.SkipValue(); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(got, []byte(`,"beside":"}]"}`)) {
		t.Errorf("what stands beside came through as %.60q", got[len(got)-60:])
	}
	levels := 0
	for _, c := range got {
		if c == '[' || c == '{' {
			levels++
		}
	}
	if levels < deepest || levels > deepest+2 {
		t.Errorf("%d levels are left of 20,001, want about %d", levels, deepest)
	}
}

func BenchmarkShallow(b *testing.B) {
	person := []byte(`{"_id":"person:0000000000000017","_rev":"1-0123456789abcdef0123456789abcdef","full_name":"Ana Souza","email":"ana@example.org","church_id":3,"birth_date":"1980-02-03","phones":["+55 11 5555 0101"],"is_active":true},`)
	text := bytes.Repeat(person, 1000)
	buf := make([]byte, 32<<10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s := &depthLimit{from: bytes.NewReader(text)}
		for {
			if _, err := s.Read(buf); err != nil {
				break
			}
		}
	}
}
