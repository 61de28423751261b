package sync

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"doorward/kv/rev"
	"doorward/sync/input"
	"doorward/sync/transit"

	"github.com/go-json-experiment/json/jsontext"
)

// query reads parameters, which are bare words or JSON. err is the first that cannot be read.
type query struct {
	values url.Values
	lists  map[string][]string // of ids, in the body
	err    error
}

func queryOf(values url.Values) *query { return &query{values: values} }

// asked returns the parameters of the address and, of a POST, the members of the body. The body counts if both have one.
func (c *call) asked() (*query, error) {
	q := queryOf(c.query)
	if c.request.Method != http.MethodPost || c.request.ContentLength == 0 {
		return q, nil
	}
	dec, err := c.decoder()
	if err != nil {
		return nil, err
	}
	err = input.WholeObject(dec, func(name string) error { return q.take(c, dec, name) })
	if errors.Is(err, io.EOF) { // an empty body
		err = nil
	}
	return q, err
}

// take reads the next value as a parameter.
func (q *query) take(c *call, dec *jsontext.Decoder, name string) error {
	if (name == "keys" || name == "doc_ids") && dec.PeekKind() == '[' {
		return q.takeIDs(c, dec, name)
	}
	v, err := dec.ReadValue()
	if err == nil {
		q.values.Set(name, string(v))
	}
	return input.Wrap(err)
}

// takeIDs reads a list of ids as a parameter. It may be long, and is read item by item.
func (q *query) takeIDs(c *call, dec *jsontext.Decoder, name string) error {
	ids, readable := []string{}, true
	err := input.EachItem(dec, func() error {
		if err := c.items.Add(1); err != nil {
			return err
		}
		if dec.PeekKind() != '"' {
			readable = false
			return input.Wrap(dec.SkipValue())
		}
		t, err := dec.ReadToken()
		ids = append(ids, t.String())
		return input.Wrap(err)
	})
	if q.values.Set(name, "["); readable { // no list that could be read
		if q.lists == nil {
			q.lists = map[string][]string{}
		}
		q.lists[name] = ids
	}
	return err
}

func (q *query) fail() {
	if q.err == nil {
		q.err = errQuery
	}
}

// flag reads a boolean, in any case, as Python writes True; the default is false.
func (q *query) flag(name string) bool {
	switch strings.ToLower(q.values.Get(name)) {
	case "true", `"true"`:
		return true
	case "", "false", `"false"`:
		return false
	}
	q.fail()
	return false
}

// unlimited is the limit of a request without one.
const unlimited = math.MaxInt

// number reads a number that is not negative.
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

// text reads a JSON text or a bare word, under the first of the names that is given.
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

// key reads a place in a list of ids, as text does. null lies before all ids.
func (q *query) key(names ...string) (text string, given bool) {
	if i := slices.IndexFunc(names, q.values.Has); i >= 0 && q.values.Get(names[i]) == "null" {
		return "", true
	}
	return q.text(names...)
}

// list reads a JSON list of texts; the default is nil.
func (q *query) list(name string) (texts []string) {
	if list, given := q.lists[name]; given {
		return list
	}
	if q.counted(name); q.err != nil {
		return nil
	}
	if raw := q.values.Get(name); raw != "" && (json.Unmarshal([]byte(raw), &texts) != nil || texts == nil) {
		q.fail()
	}
	return texts
}

// counted checks that a parameter has not too many items.
func (q *query) counted(name string) {
	if q.err == nil && input.CountItems([]byte(q.values.Get(name))) > input.MaxItems {
		q.err = input.ErrItems
	}
}

// value reads a JSON value; the default is nil.
func (q *query) value(name string) (v any) {
	if q.counted(name); q.err != nil {
		return nil
	}
	if raw := q.values.Get(name); raw != "" && json.Unmarshal([]byte(raw), &v) != nil {
		q.fail()
	}
	return v
}

// revision reads a revision; the default is the zero one.
func (q *query) revision(name string) rev.ID {
	text, _ := q.text(name)
	rev, ok := rev.ParseFree(text)
	if !ok && q.err == nil {
		q.err = transit.ErrRevision
	}
	return rev
}

// revisions reads a JSON list of revisions; the default is nil. It leaves out texts that are no revisions.
func (q *query) revisions(name string) []rev.ID {
	texts := q.list(name)
	if texts == nil {
		return nil
	}
	return transit.ParseRevs(texts)
}
