package mango_test

import (
	"encoding/json"
	"errors"
	"testing"

	"doorward/kv/docs"
	"doorward/kv/rev"
	"doorward/sync/mango"
)

// TestSelectors: a selector passes what CouchDB's would pass.
func TestSelectors(t *testing.T) {
	t.Parallel()
	doc := &docs.DocChange{ID: "person:1", Leaves: []rev.Node{{Revision: rev.ID{Generation: 1}}}}
	doc.Winner.Body = []byte(`{"name":"Ana","age":30,"home":{"city":"Recife"},"tags":["a","b"],"left":null}`)
	for _, c := range []struct {
		selector string
		passes   bool
	}{
		{`{}`, true}, {`{"name":"Ana"}`, true}, {`{"name":"ana"}`, false}, {`{"_id":"person:1"}`, true}, {`{"tags":["a","b"]}`, true},
		{`{"home.city":"Recife"}`, true}, {`{"home":{"city":"Recife"}}`, true}, {`{"home.street":"Recife"}`, false},
		{`{"age":{"$gt":29,"$lte":30}}`, true}, {`{"age":{"$lt":30}}`, false}, {`{"age":{"$gt":"x"}}`, false}, {`{"name":{"$gt":1e9}}`, true},
		{`{"left":{"$exists":true}}`, true}, {`{"gone":{"$exists":true}}`, false}, {`{"gone":{"$exists":false}}`, true}, {`{"gone":{"$lt":1}}`, false},
		{`{"age":{"$in":[29,30]}}`, true}, {`{"tags":{"$in":["x","b"]}}`, true}, {`{"tags":{"$in":["x"]}}`, false}, {`{"gone":{"$in":["x"]}}`, false}, {`{"$or":[{"age":1},{"name":"Ana"}]}`, true}, {`{"$and":[{"age":1},{"name":"Ana"}]}`, false},
	} {
		s, err := mango.Parse(json.RawMessage(c.selector))
		if err != nil {
			t.Errorf("Parse(%s) = %v", c.selector, err)
		} else if got := s.Matches(doc); got != c.passes {
			t.Errorf("%s passes: %t, want %t", c.selector, got, c.passes)
		}
	}
}

// TestUnknownOperatorsAreRefused: a selector that is not understood would pass too much.
func TestUnknownOperatorsAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		`{"age":{"$regex":"3."}}`: mango.ErrSelector, `{"$nor":[{}]}`: mango.ErrSelector, `{"$or":{}}`: mango.ErrSelector, `{"age":{"$in":3}}`: mango.ErrSelector,
		`{"age":{"$exists":1}}`: mango.ErrSelector, `[]`: mango.ErrNoSelector, `{`: mango.ErrSelector,
	} {
		if _, err := mango.Parse(json.RawMessage(text)); !errors.Is(err, want) {
			t.Errorf("Parse(%s) = %v, want %v", text, err, want)
		}
	}
}
