package kv_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"doorward/kv"
)

// FuzzWhatIsCanonicalAlready holds the quick look against the long way: what it takes for canonical is what that makes of it.
func FuzzWhatIsCanonicalAlready(f *testing.F) {
	for _, text := range []string{`{}`, `{"a":1}`, `{"a":[1,-2,"x",null,true,false,{"b":{},"c":[]}],"é":"née"}`, `{"a":01}`, `{"a":-}`, `{"a":-0}`, `{"a":1.5e3}`,
		`{"b":1,"a":2}`, `{"a":1,"a":2}`, `{"_a":1}`, `{"a":{"_b":1}}`, `{"a":"\n"}`, `{"a":"x` + "\n" + `"}`, `{"a":"` + "\xff" + `"}`, `{"a" :1}`, `{"a":1}x`, `{"a":1,}`,
		`{"a":tru}`, `{"a":[1,]}`, `{"a":"` + "\x7f" + `"}`, `{"a":"<&>"}`, `{"a":"` + "\u2028" + `"}`, `[]`, `{`, ``,
		`{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, `{"a":` + strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat("}", 200) + `}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !kv.IsCanonical(text) {
			return
		}
		if want, err := kv.MakeCanonical(text); err != nil || !bytes.Equal(text, want) {
			t.Errorf("%q was taken for canonical, it is %q, %v", text, want, err)
		}
	})
}

func TestBodiesOfRecordsAreCanonicalAtOnce(t *testing.T) {
	for _, text := range []string{`{"email":null,"full_name":"José da Silva","is_active":true,"roles":[1,2],"x":-7}`, `{}`} {
		if !kv.IsCanonical([]byte(text)) {
			t.Errorf("%s was not seen to be canonical", text)
		}
	}
}

// TestEveryByteOfATextIsLookedAt: wherever it stands in one.
func TestEveryByteOfATextIsLookedAt(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			name := []byte(strings.Repeat("é", at%3) + strings.Repeat("a", 20))
			name[len(name)-1-at] = byte(c)
			text := slices.Concat([]byte(`{"`), name, []byte(`":1}`))
			want := c >= ' ' && c < 0x7f && c != '"' && c != '\\'
			if got := kv.IsCanonical(text); got != want {
				t.Errorf("IsCanonical(%q) = %v, want %v", text, got, want)
			}
		}
	}
}
