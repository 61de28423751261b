package docs

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/entry"
	"doorward/kv/merge"
)

const maxName = 1 << 10

// CheckDocID returns ErrDocumentID for an id that is empty, reserved, not UTF-8, too long, or has a zero byte.
func CheckDocID(id string) error {
	reserved := strings.HasPrefix(id, "_") && (!strings.HasPrefix(id, "_design/") || id == "_design/")
	if id == "" || reserved || len(id) > merge.MaxDocID || !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
		return ErrDocumentID
	}
	return nil
}

// canonicalDoc returns an object with its keys sorted by bytes at every depth, numbers as they were written, and the shortest
// escapes. It returns ErrDocument for a text that is no object or has an outermost member that begins with "_", or ErrTooLarge.
// A canonical body is returned as it is.
func canonicalDoc(body []byte) ([]byte, error) {
	if merge.IsCanonical(body) {
		return body, nil
	}
	return MakeCanonical(body)
}

// MakeCanonical is the canonical form of an object, made by the full parser.
func MakeCanonical(body []byte) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body)) // a Buffer is read in place
	if dec.PeekKind() != '{' {
		return nil, fmt.Errorf("%w: not an object", merge.ErrDocument)
	}
	out, err := appendCanonicalDoc(make([]byte, 0, len(body)), dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: data after the object", merge.ErrDocument)
	}
	if len(out) > merge.MaxDoc {
		return nil, entry.ErrTooLarge
	}
	return out, nil
}

// appendCanonicalDoc appends the decoder's next value.
func appendCanonicalDoc(dst []byte, dec *jsontext.Decoder) ([]byte, error) {
	switch kind := dec.PeekKind(); {
	case dec.StackDepth() > merge.MaxDocDepth:
		return nil, fmt.Errorf("%w: too deep", merge.ErrDocument)
	case kind == '{':
		return appendCanonicalObject(dst, dec)
	case kind == '[':
		return appendCanonicalArray(dst, dec)
	case kind == '"':
		t, err := dec.ReadToken()
		if err != nil {
			return nil, notJSON(err)
		}
		return jsontext.AppendQuote(dst, t.String())
	}
	v, err := dec.ReadValue()
	return append(dst, v...), notJSON(err)
}

func appendCanonicalArray(dst []byte, dec *jsontext.Decoder) ([]byte, error) {
	_, err := dec.ReadToken()
	dst = append(dst, '[')
	for first := true; err == nil && dec.PeekKind() != ']'; first = false {
		if !first {
			dst = append(dst, ',')
		}
		if dst, err = appendCanonicalDoc(dst, dec); err != nil {
			return nil, err
		}
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	return append(dst, ']'), notJSON(err)
}

// docMember is where a member of an object stands in the canonical text that is being made.
type docMember struct {
	name     string
	from, to int
}

// appendCanonicalObject appends an object's members as they come and puts them in order where they are not.
func appendCanonicalObject(dst []byte, dec *jsontext.Decoder) ([]byte, error) {
	outermost := dec.StackDepth() == 0
	_, err := dec.ReadToken()
	dst = append(dst, '{')
	var members []docMember
	for err == nil && dec.PeekKind() != '}' {
		t, tokenErr := dec.ReadToken()
		if tokenErr != nil {
			return nil, notJSON(tokenErr)
		}
		if len(members) > 0 {
			dst = append(dst, ',')
		}
		m := docMember{name: t.String(), from: len(dst)}
		if outermost && strings.HasPrefix(m.name, "_") {
			return nil, fmt.Errorf("%w: a member begins with an underscore", merge.ErrDocument)
		}
		dst, _ = jsontext.AppendQuote(dst, m.name) // the decoder has seen that it is UTF-8
		if dst, err = appendCanonicalDoc(append(dst, ':'), dec); err != nil {
			return nil, err
		}
		m.to = len(dst)
		members = append(members, m)
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	return append(inOrder(dst, members), '}'), notJSON(err)
}

// inOrder sorts the members at the end of a text.
func inOrder(text []byte, members []docMember) []byte {
	byName := func(a, b docMember) int { return strings.Compare(a.name, b.name) }
	if slices.IsSortedFunc(members, byName) {
		return text
	}
	start := members[0].from
	run := bytes.Clone(text[start:])
	slices.SortFunc(members, byName)
	text = text[:start]
	for i, m := range members {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, run[m.from-start:m.to-start]...)
	}
	return text
}

// notJSON replaces a parser's error, which may quote the document.
func notJSON(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: not JSON", merge.ErrDocument)
}

// hashed is the text inside the revision's hash: the body, and the attachments as name → hex SHA-256.
func hashed(body []byte, attachments []merge.Attachment) []byte {
	if len(attachments) == 0 {
		return body
	}
	text := []byte(`{"_attachments":{`)
	for i, a := range attachments {
		if i > 0 {
			text = append(text, ',')
		}
		text, _ = jsontext.AppendQuote(text, a.Name) // checked to be UTF-8
		text = append(hex.AppendEncode(append(text, `:"`...), a.SHA256[:]), '"')
	}
	text = append(text, '}')
	if len(body) > len("{}") {
		text = append(text, ',')
	}
	return append(text, body[1:]...)
}
