package value

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
		reason := strings.TrimPrefix(s.Err.Error(), "jsontext: ")
		if strings.Contains(reason, "`") {
			reason = "invalid escape sequence in string"
		}
		return syntaxError(body, int(s.ByteOffset), reason)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return syntaxError(body, len(body), "unexpected EOF")
	}
	return syntaxError(body, 0, err.Error())
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
