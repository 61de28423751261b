package value

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Content is what stands between a stored string's quotes, decoded; nothing of another value, which a replica may have stored.
func Content(v jsontext.Value) []byte {
	if v.Kind() != '"' {
		return nil
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	return []byte(Unquote(v))
}

// Plain is the text of a string or number, trimmed; ok is false for anything else.
func Plain(v jsontext.Value) (s string, ok bool) {
	switch v.Kind() {
	case '"':
		return strings.TrimSpace(Unquote(v)), true
	case '0':
		return string(v), true
	}
	return "", false
}

// Compact is a value without white space, its strings with the shortest escapes, its numbers as they were.
func Compact(v jsontext.Value) jsontext.Value {
	v = v.Clone()
	if err := v.Format(); err != nil {
		panic("record: a value that was read is no JSON: " + err.Error())
	}
	return v
}

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
