package value

import (
	"bytes"
	"strings"

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
