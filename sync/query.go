package sync

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/rev"
)

// query reads the parameters of a request, which are bare words or JSON. The first that cannot be read is its err.
type query struct {
	values url.Values
	err    error
}

func queryOf(values url.Values) *query { return &query{values: values} }

// asked are the parameters of a request that may come by GET or by POST: those of its address and, of a POST, the members of its body.
// Where both give one, the body counts.
func (c *call) asked() (*query, error) {
	q := queryOf(c.query)
	if c.request.Method != http.MethodPost || c.request.ContentLength == 0 {
		return q, nil
	}
	dec, err := c.decoder()
	if err != nil {
		return nil, err
	}
	c.values.large = true // many keys
	err = eachMember(dec, func(name string) error { return q.take(dec, name) })
	if errors.Is(err, io.EOF) { // there is no body
		err = nil
	}
	return q, err
}

// take takes the value that comes next as a parameter.
func (q *query) take(dec *jsontext.Decoder, name string) error {
	v, err := dec.ReadValue()
	if err == nil {
		q.values.Set(name, string(v))
	}
	return badBody(err)
}

func (q *query) fail() {
	if q.err == nil {
		q.err = errQuery
	}
}

// flag is a truth value; false where it is not given.
func (q *query) flag(name string) bool {
	switch q.values.Get(name) {
	case "true", `"true"`:
		return true
	case "", "false", `"false"`:
		return false
	}
	q.fail()
	return false
}

// unlimited is the limit of who gives none.
const unlimited = math.MaxInt

// number is a number that is not negative.
func (q *query) number(name string, otherwise int) int {
	text := q.values.Get(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil {
		q.fail()
		return otherwise
	}
	return int(n)
}

// text is a JSON text or a bare word; given tells whether there is one under any of the names.
func (q *query) text(names ...string) (text string, given bool) {
	for _, name := range names {
		if !q.values.Has(name) {
			continue
		}
		raw := q.values.Get(name)
		if len(raw) == 0 || raw[0] != '"' {
			return raw, true
		}
		if json.Unmarshal([]byte(raw), &text) != nil {
			q.fail()
		}
		return text, true
	}
	return "", false
}

// list is a JSON list of texts; nil where it is not given.
func (q *query) list(name string) (texts []string) {
	if raw := q.values.Get(name); raw != "" && (json.Unmarshal([]byte(raw), &texts) != nil || texts == nil) {
		q.fail()
	}
	return texts
}

// value is a JSON value; nil where it is not given.
func (q *query) value(name string) (v any) {
	if raw := q.values.Get(name); raw != "" && json.Unmarshal([]byte(raw), &v) != nil {
		q.fail()
	}
	return v
}

// revision is a revision of a document; the zero one where none is given.
func (q *query) revision(name string) rev.ID {
	text, _ := q.text(name)
	rev, ok := rev.ParseFree(text)
	if !ok && q.err == nil {
		q.err = errRevision
	}
	return rev
}

// revisions are a JSON list of revisions; nil where it is not given. Those that are none are left out.
func (q *query) revisions(name string) []rev.ID {
	texts := q.list(name)
	if texts == nil {
		return nil
	}
	return parseRevisions(texts)
}

func parseRevisions(texts []string) []rev.ID {
	revs := make([]rev.ID, 0, len(texts))
	for _, text := range texts {
		if rev, ok := rev.ParseFree(text); ok && text != "" {
			revs = append(revs, rev)
		}
	}
	return revs
}
