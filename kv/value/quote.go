package value

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Quote is a string's stored form: the shortest escapes. Bytes that are no UTF-8 become U+FFFD.
func Quote(s string) jsontext.Value { return AppendQuote(make([]byte, 0, len(s)+2), s) }

func AppendQuote(dst []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			dst, _ = jsontext.AppendQuote(dst, s)
			return dst
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// Texts is a list of texts in its stored form.
func Texts(texts ...string) jsontext.Value {
	v := jsontext.Value{'['}
	for i, t := range texts {
		if i > 0 {
			v = append(v, ',')
		}
		v = AppendQuote(v, t)
	}
	return append(v, ']')
}

// ReadTexts returns the texts of a valid list in its stored form.
func ReadTexts(v jsontext.Value) (all []string) {
	d := jsontext.NewDecoder(strings.NewReader(string(v)))
	for {
		t, err := d.ReadToken()
		if err != nil {
			return all // the end of the list
		}
		if t.Kind() == '"' {
			all = append(all, t.String())
		}
	}
}
