package value

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Find returns the member with a name, looking from run[i] on, where a member begins, and the place at which the next one begins. The
// value is nil if there is none. The name holds nothing that a JSON string escapes.
func Find(run []byte, i int, name string) (v jsontext.Value, after int) {
	for i < len(run) {
		end := i + 1 + len(name)
		here := end+1 < len(run) && run[end] == '"' && run[end+1] == ':' && string(run[i+1:end]) == name
		if here {
			i = end + 2
			end = skipValue(run, i)
			return jsontext.Value(run[i:end:end]), end + 1
		}
		i = skipMember(run, i)
	}
	return nil, i
}

// skipMember returns the place of the member behind the one at run[i]. Every look-up spends its time in this loop: most names hold no
// escapes, and most values are null.
func skipMember(run []byte, i int) int {
	colon := skipString(run, i)
	if colon+1 >= len(run) {
		return len(run)
	}
	switch run[colon+1] {
	case 'n', 't':
		return colon + len(":null,")
	case 'f':
		return colon + len(":false,")
	}
	return skipValue(run, colon+1) + 1
}

// ReadMember reads the member that begins at run[i]: its name with the quotes, its value, and the place of the next one. ok is false if
// there is none.
func ReadMember(run []byte, i int) (name []byte, v jsontext.Value, after int, ok bool) {
	if i >= len(run) || run[i] != '"' {
		return nil, nil, 0, false
	}
	colon := skipString(run, i)
	if colon >= len(run) || run[colon] != ':' {
		return nil, nil, 0, false
	}
	v, after, ok = valueAt(run, colon+1)
	return run[i:colon:colon], v, after, ok
}

// ReadLabelled is ReadMember if the member begins with the label, as "full_name":. Otherwise ok is false.
func ReadLabelled(run []byte, i int, label string) (v jsontext.Value, after int, ok bool) {
	if end := i + len(label); end < len(run) && string(run[i:end]) == label {
		return valueAt(run, end)
	}
	return nil, 0, false
}

// valueAt reads the value that begins at run[i], and the place of the next member.
func valueAt(run []byte, i int) (v jsontext.Value, after int, ok bool) {
	end := skipValue(run, i)
	if end == i || end < len(run) && run[end] != ',' {
		return nil, 0, false
	}
	return jsontext.Value(run[i:end:end]), end + 1, true
}

// skipString returns the end of the string that begins at run[i].
func skipString(run []byte, i int) int {
	open := i
	for i++; i < len(run); i++ {
		j := bytes.IndexByte(run[i:], '"')
		if j < 0 {
			break
		}
		i += j
		slashes := 0
		for i-1-slashes > open && run[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
	return len(run)
}

// skipValue returns the end of the value that begins at run[i].
func skipValue(run []byte, i int) int {
	if i >= len(run) {
		return len(run)
	}
	switch run[i] {
	case '"':
		return skipString(run, i)
	case '{', '[':
		return skipNested(run, i)
	}
	for i < len(run) && run[i] != ',' && run[i] != '}' && run[i] != ']' {
		i++
	}
	return i
}

// skipNested returns the end of the object or list that begins at run[i].
func skipNested(run []byte, i int) int {
	for depth := 0; i < len(run); i++ {
		switch run[i] {
		case '"':
			i = skipString(run, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(run)
}

// Elements yields the elements of a stored list. Any other value has none.
func Elements(list jsontext.Value) iter.Seq[jsontext.Value] {
	return func(yield func(jsontext.Value) bool) {
		if len(list) < 2 || list[0] != '[' {
			return
		}
		inner := list[1 : len(list)-1]
		for i := 0; i < len(inner); {
			end := skipValue(inner, i)
			if end == i || !yield(inner[i:end:end]) {
				return
			}
			i = end + 1
		}
	}
}

// Ints reads a stored list of integers.
func Ints(list jsontext.Value) []int64 {
	var out []int64
	for v := range Elements(list) {
		out = append(out, Int(v))
	}
	return out
}

// Int reads a stored integer. It returns 0 for anything else. Replies read many, nearly all of them short ids.
func Int(v jsontext.Value) (n int64) {
	if len(v) <= 18 {
		for _, c := range v {
			if c < '0' || c > '9' {
				n, _ = ReadInteger(v)
				return n
			}
			n = n*10 + int64(c-'0')
		}
		return n
	}
	n, _ = ReadInteger(v)
	return n
}

// Unquote returns the text of a stored string. It is "" for anything else.
func Unquote(v []byte) string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1])
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(text)
}

// IsNull reports whether a value is null or absent.
func IsNull(v jsontext.Value) bool { return len(v) == 0 || v[0] == 'n' }
