package input

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
)

// scanned scans a text in pieces as a reader gives them, and returns the values that were found and why it is no JSON.
func scanned(from io.Reader) (found []Found, err error) {
	s := NewScanner(func(f *Found) error {
		found = append(found, *f)
		return nil
	})
	buf := make([]byte, 100)
	for {
		n, failed := from.Read(buf)
		if err := s.Scan(buf[:n]); err != nil {
			return found, err
		}
		if failed != nil {
			return found, s.End()
		}
	}
}

// FuzzScannerTakesJSON holds the scanner against a decoder: it takes what that takes, however it is cut, and each value that it finds is one.
func FuzzScannerTakesJSON(f *testing.F) {
	for _, text := range []string{
		`{"docs":[{"_id":"a","_attachments":{"p":{"data":"YQ=="}}},5,"x",[],{}],"new_edits":false}`, ` [1 , 2.50e+3,-0,0.1E-2,true,false,null] `,
		`{"a":"\u00e9\ud800\"\\\/\b\f\n\r\t","a":1,"é":"` + "\xff" + `"}`, `{}`, `[]`, `""`, `1`, `-`, `01`, `1.`, `1e`, `1e+`, `.5`, `+1`, `nul`, `nulls`, `truefalse`,
		`{`, `[`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `[1,]`, `[,1]`, `{,}`, `{"a" 1}`, `{a:1}`, `{"a":1]`, `[1}`, `{} {}`, `{}x`, `"\x"`, `"\u12g4"`,
		"\"a\nb\"", `"`, `"\`, `"\u`, `'a'`, "\ufeff{}", ``, ` `, `[[[[[[[[{"a":[{}]}]]]]]]]]`, `{"":{"":{"":{"":{"":{"":1}}}}}}`, `[1 2]`, `{"a":1 "b":2}`, `{"a"::1}`, "[1\x00]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Count(string(text), "{")+strings.Count(string(text), "[") > tooDeep {
			return // see TestScannerGoesOnBelowTheDepth
		}
		dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		want := dec.SkipValue()
		if want == nil {
			if _, want = dec.ReadToken(); errors.Is(want, io.EOF) {
				want = nil
			} else if want == nil {
				want = errors.New("something follows")
			}
		}
		found, err := scanned(bytes.NewReader(text))
		if (err == nil) != (want == nil) {
			t.Fatalf("%q: %v, a decoder says %v", text, err, want)
		}
		again, cut := scanned(iotest.OneByteReader(bytes.NewReader(text)))
		if (err == nil) != (cut == nil) || len(again) != len(found) {
			t.Fatalf("%q: %v and %d values, byte by byte %v and %d", text, err, len(found), cut, len(again))
		}
		for i, v := range found {
			value := jsontext.Value(text[v.From:v.To])
			if again[i] != v || !value.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) || text[v.From] != v.Kind {
				t.Errorf("%q: found %+v, which is %q", text, v, value)
			}
		}
	})
}

// TestScannerGoesOnBelowTheDepth: what lies too deep is passed over, wherever it is cut, and what stands beside it is found.
func TestScannerGoesOnBelowTheDepth(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat(`{"a":[`, n/2) + `"]}\"{[\\"` + strings.Repeat(`]}`, n/2) }
	for n, deep := range map[int]bool{1000: false, 1002: true, 20_000: true} {
		text := `{"docs":[` + nested(n) + `,{"_id":"beside"}]}`
		for _, from := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			b, err := ReadBatch(from, &Spool{Memory: 16 * pieceSize})
			if err != nil || b.Len() != 2 {
				t.Fatalf("%d levels: %+v, %v, want two documents", n, b, err)
			}
			fault, err := b.Document(0).Known()
			if err != nil || (fault != nil) != deep {
				t.Errorf("%d levels: %v, %v", n, fault, err)
			}
			if beside, err := io.ReadAll(b.Document(1).Rewind()); err != nil || string(beside) != `{"_id":"beside"}` {
				t.Errorf("%d levels: beside it is %s, %v", n, beside, err)
			}
		}
	}
}

func BenchmarkScanner(b *testing.B) {
	person := `{"_id":"person:0000000000000017","_rev":"1-0123456789abcdef0123456789abcdef","full_name":"Ana Souza","email":"ana@example.org","church_id":3,"birth_date":"1980-02-03","phones":["+55 11 5555 0101"],"is_active":true},`
	text := []byte(`{"docs":[` + strings.Repeat(person, 1000) + `{}]}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s := NewScanner(func(*Found) error { return nil })
		if err := s.Scan(text); err != nil {
			b.Fatal(err)
		}
	}
}

// TestReadBatch_DeepElsewhere reads a member that is too deep and is no document. The document after it has no fault.
func TestReadBatch_DeepElsewhere(t *testing.T) {
	body := `{"x":` + strings.Repeat("[", 1100) + strings.Repeat("]", 1100) + `,"docs":[{"_id":"innocent"}]}`
	b, err := ReadBatch(strings.NewReader(body), &Spool{Memory: 1 << 20})
	if err != nil || b.Len() != 1 {
		t.Fatalf("ReadBatch = %+v, %v, want one document", b, err)
	}
	if at, deep := b.deep[0]; deep {
		t.Errorf("the document is too deep at %d", at)
	}
}
