package value

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is the deepest nesting of a body's values.
const maxDepth = 1000

// ReadObject calls fn with each member of a JSON object. The value is valid only during the call. ReadObject returns a *SyntaxError for
// anything that is no object by contract.md §1: wrong bytes, a name twice at any depth, data after the end.
func ReadObject(body []byte, fn func(name string, v jsontext.Value)) error {
	if len(bytes.Trim(body, " \t\r\n")) == 0 {
		return nil
	}
	if at := tooDeep(body); at >= 0 {
		return syntaxError(body, at, "more than 1000 levels deep")
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	if kind := dec.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
		return syntaxError(body, startOf(body), "expected an object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return asSyntaxError(body, err)
	}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return asSyntaxError(body, err)
		}
		name := token.String()
		v, err := dec.ReadValue()
		if err != nil {
			return asSyntaxError(body, err)
		}
		fn(name, v)
	}
	if _, err := dec.ReadToken(); err != nil {
		return asSyntaxError(body, err)
	}
	end := int(dec.InputOffset())
	if rest := bytes.TrimLeft(body[end:], " \t\r\n"); len(rest) > 0 {
		return syntaxError(body, len(body)-len(rest), "data after the object")
	}
	return nil
}

// tooDeep returns the place at which a body goes deeper than maxDepth, or -1.
func tooDeep(body []byte) int {
	depth := 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			i = skipString(body, i) - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}

func startOf(body []byte) int { return len(body) - len(bytes.TrimLeft(body, " \t\r\n")) }

// asSyntaxError puts the decoder's error into ours, without repeating what a string held.
func asSyntaxError(body []byte, err error) error {
	var s *jsontext.SyntacticError
	switch {
	case errors.As(err, &s):
		return syntaxError(body, int(s.ByteOffset), Reason(s))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return syntaxError(body, len(body), "unexpected EOF")
	}
	return syntaxError(body, 0, err.Error())
}

// Reason returns why a decoder has stopped, without repeating what a string held.
func Reason(s *jsontext.SyntacticError) string {
	reason := strings.TrimPrefix(s.Err.Error(), "jsontext: ")
	if strings.Contains(reason, "`") {
		return "invalid escape sequence in string"
	}
	return reason
}

func syntaxError(body []byte, at int, reason string) error {
	head := body[:min(max(at, 0), len(body))]
	start := bytes.LastIndexByte(head, '\n') + 1
	return &SyntaxError{
		Line:   1 + bytes.Count(head, []byte{'\n'}),
		Column: 1 + utf8.RuneCount(head[start:]),
		Reason: reason,
	}
}

// SyntaxError says where a body stops being a JSON object. Line and Column count from 1; columns are characters.
type SyntaxError struct {
	Line, Column int
	Reason       string
}

// Error returns the sentence of the answer.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("The body is not a JSON object: line %d, column %d: %s.", e.Line, e.Column, e.Reason)
}

// Member is a name and value of a JSON object.
type Member struct {
	Name  string
	Value jsontext.Value
}

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

// Named is a member with its name decoded.
type Named struct {
	Name  []byte
	Value jsontext.Value
}

// UnquoteName is Unquote of a name. It shares the name's bytes if nothing in it is escaped.
func UnquoteName(name []byte) []byte {
	if bytes.IndexByte(name, '\\') < 0 {
		return name[1 : len(name)-1]
	}
	return []byte(Unquote(name))
}

// AppendComma appends what parts members and elements: a comma, or nothing where the object or list has only begun.
func AppendComma(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '{' || last == '[' {
		return dst
	}
	return append(dst, ',')
}

// AppendMember appends a member to a JSON object that is not closed.
func AppendMember(dst []byte, name string, v jsontext.Value) []byte {
	return append(append(AppendQuote(AppendComma(dst), name), ':'), v...)
}

// AppendObject appends an object of members, sorted.
func AppendObject(dst []byte, members []Named) []byte {
	slices.SortStableFunc(members, func(a, b Named) int { return bytes.Compare(a.Name, b.Name) })
	dst = append(dst, '{')
	for _, m := range members {
		dst, _ = jsontext.AppendQuote(AppendComma(dst), m.Name)
		dst = appendCanonical(append(dst, ':'), m.Value)
	}
	return append(dst, '}')
}

// AppendCanonical appends one value of our own encoding in its canonical form. dst may lie on the caller's stack.
func AppendCanonical(dst []byte, v jsontext.Value) []byte {
	if isCanonical(v) {
		return append(dst, v...)
	}
	return append(dst, appendCanonical(nil, v)...) // a dst that a recursive function takes is moved to the heap
}

// isCanonical tells a value in its canonical form without sorting anything. Most are.
func isCanonical(v jsontext.Value) bool {
	if len(v) == 0 {
		return false
	}
	switch v[0] {
	case '{':
		return bytes.IndexByte(v, ',') < 0 && bytes.IndexByte(v, '\\') < 0
	case '[':
		return bytes.IndexByte(v, '{') < 0 && bytes.IndexByte(v, '\\') < 0
	case '"':
		return bytes.IndexByte(v, '\\') < 0
	}
	return true
}

func appendCanonical(dst []byte, v jsontext.Value) []byte {
	switch {
	case isCanonical(v):
		return append(dst, v...)
	case len(v) == 0:
		return append(dst, "null"...)
	case v[0] == '{':
		var few [8]Named // most objects have no more
		members, run := few[:0], v[1:len(v)-1]
		for i := 0; i < len(run); {
			name, value, after, ok := ReadMember(run, i)
			if !ok {
				return append(dst, v...)
			}
			members = append(members, Named{UnquoteName(name), value})
			i = after
		}
		return AppendObject(dst, members)
	case v[0] == '[':
		dst = append(dst, '[')
		for e := range Elements(v) {
			dst = appendCanonical(AppendComma(dst), e)
		}
		return append(dst, ']')
	}
	dst, _ = jsontext.AppendQuote(dst, Unquote(v))
	return dst
}

// Equal reports whether two stored values are the same: by their text, objects whatever the order of their members.
func Equal(a, b jsontext.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if a.Kind() != b.Kind() || a.Kind() != '{' && a.Kind() != '[' {
		return false
	}
	return bytes.Equal(AppendCanonical(nil, a), AppendCanonical(nil, b))
}
