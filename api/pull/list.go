package pull

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/record"
	"doorward/kv/value"
)

const (
	pageSize   = 100
	maxPasses  = 3
	maxRecords = 10_000_000 // in one list
)

// item is a record as the source shows it.
type item map[string]jsontext.Value

// id returns the record's id; 0 if it has no valid one.
func (i item) id() int64 { return idOf(i["id"]) }

// idOf reads an id, as a number or a text; 0 if it is not valid.
func idOf(v jsontext.Value) int64 {
	text := string(v)
	if v.Kind() == '"' {
		text = value.Unquote(v)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > record.MaxID {
		return 0
	}
	return n
}

// page is the envelope of a list.
type page struct {
	Count   *int64 `json:"count"`
	Results []item `json:"results"`
}

// list is one list of the source.
type list struct {
	path  string
	query url.Values // beside limit and offset
}

// reader reads the lists of the source.
type reader struct {
	source *source
	max    int64               // records in one list
	whole  map[string]bool     // by kind: whether its lists show all members; absent = not known yet
	expect func(records int64) // gets the number of records in a list
}

// page asks for one page of a list. An answer without a count or without results is no answer of /v1.
func (rd *reader) page(ctx context.Context, l list, offset, limit int64) (page, error) {
	q := maps.Clone(l.query)
	if q == nil {
		q = url.Values{}
	}
	q.Set("limit", strconv.FormatInt(limit, 10))
	q.Set("offset", strconv.FormatInt(offset, 10))
	var at page
	err := rd.source.get(ctx, l.path, q, func(answer []byte) bool {
		return json.Unmarshal(answer, &at) == nil && at.Count != nil && *at.Count >= 0 && at.Results != nil
	})
	return at, err
}

// pass reads a list once, page by page. Each page begins with the last record of the one before, which shows whether the list has shifted
// between the two. The list is steady if it has not, and if its count stayed the same and is the number of different records.
func (rd *reader) pass(ctx context.Context, l list, each func([]item) error) (steady bool, err error) {
	seen, first, last, shifted := map[int64]bool{}, int64(-1), int64(-1), false
	for offset := int64(0); ; {
		at, err := rd.page(ctx, l, offset, pageSize)
		if err != nil {
			return false, err
		}
		if first < 0 {
			first = *at.Count
			rd.expect(first)
		}
		fresh := at.Results
		if last >= 0 && len(fresh) > 0 {
			if fresh[0].id() == last {
				fresh = fresh[1:]
			} else {
				shifted = true
			}
		}
		before := len(seen)
		for _, one := range fresh {
			seen[one.id()] = true
		}
		if err := each(fresh); err != nil {
			return false, err
		}
		offset += int64(len(at.Results))
		switch {
		case offset > rd.max:
			return false, fmt.Errorf("the list has no end: %d records were read", offset)
		case offset >= *at.Count:
			delete(seen, 0)
			return !shifted && *at.Count == first && int64(len(seen)) == first, nil
		case len(seen) == before:
			return false, nil // the same once more, or nothing: it has shifted, or does not go on
		}
		if last = -1; len(at.Results) > 1 {
			last = at.Results[len(at.Results)-1].id()
			offset--
		}
	}
}

// passes reads a list until it is steady, at most maxPasses times. each gets every record once.
func (rd *reader) passes(ctx context.Context, l list, seen map[int64]bool, each func([]item) error) (steady bool, err error) {
	for n := 0; n < maxPasses && !steady; n++ {
		steady, err = rd.pass(ctx, l, func(items []item) error {
			var fresh []item
			for _, one := range items {
				id := one.id()
				if id == 0 && n > 0 || seen[id] {
					continue
				}
				if id != 0 {
					seen[id] = true
				}
				fresh = append(fresh, one)
			}
			return each(fresh)
		})
		if err != nil {
			return false, err
		}
	}
	return steady, nil
}

// wholly asks for each record by itself if the list shows less of it. The first record that the source gives by itself tells whether it
// does; if it gives none of a page, what the list shows is taken.
func (rd *reader) wholly(ctx context.Context, r resource, items []item) ([]item, error) {
	if r.kind == record.Membership || len(items) == 0 {
		return items, nil
	}
	out := slices.Clone(items)
	for i, listed := range items {
		if rd.whole[r.kind.Name] {
			return out, nil
		}
		one, err := rd.wholeItem(ctx, r, listed)
		if err != nil {
			return nil, err
		}
		if one == nil {
			continue
		}
		out[i] = one
		if _, known := rd.whole[r.kind.Name]; !known {
			rd.whole[r.kind.Name] = !slices.ContainsFunc(r.kind.Fields, func(f record.Field) bool {
				_, isListed := listed[f.Name]
				_, isGiven := one[f.Name]
				return isGiven && !isListed && isMapped(&f)
			})
		}
	}
	if _, known := rd.whole[r.kind.Name]; !known {
		rd.whole[r.kind.Name] = true
	}
	return out, nil
}

// wholeItem asks for one record by itself. It returns nil if the source refuses, or answers another id.
func (rd *reader) wholeItem(ctx context.Context, r resource, listed item) (item, error) {
	switch {
	case listed.id() == 0:
		return nil, nil
	case listed.shows(r.kind):
		return listed, nil
	}
	var one item
	err := rd.source.get(ctx, r.path+strconv.FormatInt(listed.id(), 10)+"/", nil, func(answer []byte) bool { return json.Unmarshal(answer, &one) == nil })
	if refusal, ok := errors.AsType[*refused](err); ok && refusal.status < http.StatusInternalServerError && refusal.status != http.StatusTooManyRequests {
		return nil, nil
	}
	if err != nil || one.id() != listed.id() {
		return nil, err
	}
	return one, nil
}
