package kv_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/record"
	"doorward/kv/search"
)

// TestSearchWithAnIndexEqualsTheScan draws a congregation that changes before, while and after an index looks, and compares
// what every kind of key finds with it and without.
func TestSearchWithAnIndexEqualsTheScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := kvtest.Open(t)
		c := newCongregation(t, s)
		f := newFollower(t, s)
		for range rapid.IntRange(1, 12).Draw(r, "rounds") {
			for range rapid.IntRange(0, 4).Draw(r, "changes") {
				c.change(r)
			}
			f.follow(rapid.SampledFrom([]int{0, 1, 3, 10, 1000}).Draw(r, "follow"))
			f.junk = rapid.IntRange(0, 5).Draw(r, "junk")
			f.before, f.meanwhile = nil, nil
			if rapid.IntRange(0, 3).Draw(r, "before") == 0 {
				f.before = func() {
					c.change(r)
					f.follow(1000)
					f.before = nil
				}
			}
			if n := rapid.IntRange(-2, 3).Draw(r, "meanwhile"); n > 0 {
				f.meanwhile = func() {
					for range n {
						c.change(r)
					}
					f.meanwhile = nil // what is asked again finds it so
				}
			}
			if rapid.IntRange(0, 3).Draw(r, "door") == 0 {
				c.checkTickets(r, f)
			} else {
				c.checkSearch(r, f)
			}
		}
	})
}

// congregation is a store with two regionals, three churches, three events, and keys.
type congregation struct {
	t    testing.TB
	s    *kv.Store
	keys []auth.Principal
}

func newCongregation(t testing.TB, s *kv.Store) *congregation {
	t.Helper()
	c := &congregation{t: t, s: s, keys: []auth.Principal{auth.Operator()}}
	var rows []entry.Row
	for id := int64(1); id <= 2; id++ {
		rows = append(rows, row(t, record.Regional, id, `{"name":"R"}`))
	}
	for id := int64(1); id <= 3; id++ {
		rows = append(rows, row(t, record.Church, id, fmt.Sprintf(`{"name":"C","regional_id":%d}`, 1+id%2)))
	}
	for id := int64(1); id <= 3; id++ {
		rows = append(rows, row(t, record.Event, id, fmt.Sprintf(`{"name":"E","start_datetime":"2026-11-22T19:00:00Z","church_id":%d}`, id)))
	}
	loaded(t, s, rows...)
	for _, level := range []string{"denomination", "regional:1", "regional:1,2", "church:1", "church:2,3", "event:1", "event:1,2"} {
		c.keys = append(c.keys, kvtest.Login(t, s, level, "*:*"))
	}
	return c
}

var someWords = []string{"Ana", "Anna", "João", "Souza", "Sousa", "da", "Gonçalves", "Conceição", "D'Ávila", "Davila", "Ávila", "D", "Jr", "Uesley", "Wesley"}

// drawnName is a name of some words.
func drawnName(r *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(someWords), 1, 3).Draw(r, "name"), " ")
}

// change makes, moves or deletes one record.
func (c *congregation) change(r *rapid.T) {
	id := rapid.Int64Range(1, 8).Draw(r, "id")
	home := rapid.Int64Range(1, 3).Draw(r, "home")
	phone := fmt.Sprintf(`+55 11 98765-%d`, rapid.IntRange(4320, 4322).Draw(r, "phone"))
	switch rapid.IntRange(0, 9).Draw(r, "change") {
	case 0, 1, 2:
		church := strings.Replace(fmt.Sprint(home), "3", "null", 1)
		loaded(c.t, c.s, row(c.t, record.Person, id, fmt.Sprintf(`{"full_name":%q,"church_id":%s,"phone":%q,"is_leader":%t}`, drawnName(r), church, phone, id%2 == home%2)))
	case 3, 4, 5:
		_ = c.s.Desk.Delete(auth.Operator(), target(record.Ticket, id)) // a ticket stays at its event
		loaded(c.t, c.s, row(c.t, record.Ticket, id, fmt.Sprintf(`{"event_id":%d,"code":"CODE-%d","holder_name":%q,"phone":%q}`, home, id, drawnName(r), phone)))
	case 6:
		_ = c.s.Desk.Delete(auth.Operator(), target(rapid.SampledFrom([]*record.Kind{record.Person, record.Ticket}).Draw(r, "kind"), id)) // it may not be there
	case 7, 8:
		patched(c.t, c.s, record.Church, home, fmt.Sprintf(`{"regional_id":%d}`, 1+id%2))
	case 9:
		patched(c.t, c.s, record.Event, home, fmt.Sprintf(`{"church_id":%d}`, 1+id%3))
	}
}

// drawnText is what somebody may have typed.
func drawnText(r *rapid.T) string {
	word := rapid.Custom(func(r *rapid.T) string {
		w := []rune(rapid.SampledFrom(append([]string{"4321", "21", "x", "-"}, someWords...)).Draw(r, "typed"))
		switch from, to := rapid.IntRange(0, len(w)-1).Draw(r, "from"), len(w); rapid.IntRange(0, 3).Draw(r, "as") {
		case 0:
			return string(w[:from+1])
		case 1:
			return string(w[from:to])
		case 2:
			w[from] = 'x'
		}
		return string(w)
	})
	return strings.Join(rapid.SliceOfN(word, 1, 3).Draw(r, "text"), " ")
}

// checkSearch compares a list with the index and without it.
func (c *congregation) checkSearch(r *rapid.T, f *follower) {
	q := desk.Query{Surface: record.Admin, Kind: rapid.SampledFrom([]*record.Kind{record.Person, record.Person, record.HolderLabel, record.HolderName}).Draw(r, "kind"),
		Offset: rapid.IntRange(0, 2).Draw(r, "offset"), Limit: rapid.SampledFrom([]int{2, 100}).Draw(r, "limit")}
	text := drawnText(r)
	switch rapid.IntRange(0, 3).Draw(r, "mode") {
	case 0:
		q.Search = search.Parse(text).Fuzzy()
	case 1:
		q.Search = search.Parse(text)
	default:
		q.Ranked = search.ParseRanked(text)
	}
	if q.Kind == record.Person && rapid.Bool().Draw(r, "leaders") {
		q.Where = append(q.Where, desk.Where{Field: "is_leader", In: []any{rapid.Bool().Draw(r, "is_leader")}})
	}
	p := rapid.SampledFrom(c.keys).Draw(r, "key")
	if home := map[*record.Kind]string{record.Person: "church_id", record.HolderName: "event_id"}[q.Kind]; home != "" && rapid.IntRange(0, 3).Draw(r, "filter") == 0 {
		q.Where = append(q.Where, desk.Where{Field: home, In: []any{rapid.Int64Range(1, 3).Draw(r, "of")}})
	}
	q.Finder = f
	got, err := c.s.Desk.List(p, q)
	q.Finder = nil
	want, wanted := c.s.Desk.List(p, q)
	if kindOf(err) != kindOf(wanted) || got.Count != want.Count || !slices.Equal(got.IDs, want.IDs) || string(got.Results) != string(want.Results) {
		r.Errorf("search %q of %s finds %d %v, %v with the index, %d %v, %v without", text, q.Kind.Name, got.Count, ints(got.IDs), err, want.Count, ints(want.IDs), wanted)
	}
}

// checkTickets compares a door's search with the index and without it.
func (c *congregation) checkTickets(r *rapid.T, f *follower) {
	text := drawnText(r)
	typed := search.ParseRanked(text)
	event := rapid.Int64Range(1, 4).Draw(r, "event")
	p := rapid.SampledFrom(c.keys).Draw(r, "key")
	got, err := c.s.Door.FindTickets(p, event, typed, f)
	want, wanted := c.s.Door.FindTickets(p, event, typed, nil)
	if kindOf(err) != kindOf(wanted) || !reflect.DeepEqual(got, want) {
		r.Errorf("tickets for %q: %+v, %v with the index, %+v, %v without", text, got, err, want, wanted)
	}
}

// TestRankedSearchIsRightPastItsLimits: of more matches than an index names, in lists and at doors, when the best of them change
// after it has looked.
func TestRankedSearchIsRightPastItsLimits(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	s := kvtest.Open(t)
	c := newCongregation(t, s)
	var rows []entry.Row
	name := func(id int64) string {
		return []string{"Ana", "Anabela", "Anna", "Eva"}[id%4] + " Souza" + strings.Repeat(" X", int(id%5))
	}
	for id := int64(1); id <= 3500; id++ {
		rows = append(rows, row(t, record.Person, id, fmt.Sprintf(`{"full_name":%q,"church_id":1}`, name(id))))
	}
	for id := int64(1); id <= 200; id++ {
		rows = append(rows, row(t, record.Ticket, id, fmt.Sprintf(`{"event_id":1,"code":"CODE-%d","holder_name":%q}`, id, name(id))))
	}
	loaded(t, s, rows...)
	rapid.Check(t, func(r *rapid.T) {
		f := newFollower(t, s)
		f.follow(1 << 20)
		f.junk = rapid.IntRange(0, 1).Draw(r, "junk") * 400
		f.fooled = rapid.IntRange(0, 1).Draw(r, "fooled") * rapid.IntRange(0, 1100).Draw(r, "fools")
		first, n := rapid.Int64Range(1, 3000).Draw(r, "first"), rapid.Int64Range(0, 300).Draw(r, "changed")
		rename := func(name func(int64) string) {
			var rows []entry.Row
			for id := first; id < first+n; id++ {
				rows = append(rows, row(t, record.Person, id, fmt.Sprintf(`{"full_name":%q}`, name(id))),
					row(t, record.Ticket, 1+id%200, fmt.Sprintf(`{"holder_name":%q}`, name(1+id%200))))
			}
			loaded(t, s, rows...)
		}
		defer rename(name)
		other := rapid.SampledFrom([]string{"Ana Souza", "Eva Lima", "Anna Souza"}).Draw(r, "name")
		change := func() { rename(func(int64) string { return other }) }
		if rapid.Bool().Draw(r, "meanwhile") {
			f.meanwhile = change
		} else {
			change()
		}
		q := desk.Query{Surface: record.Admin, Kind: record.Person, Ranked: search.ParseRanked("ana souza"), Limit: 2000, Finder: f}
		got, err := s.Desk.List(auth.Operator(), q)
		q.Finder = nil
		want, wanted := s.Desk.List(auth.Operator(), q)
		if err != nil || wanted != nil || got.Count != want.Count || got.Count > 1000 || !slices.Equal(got.IDs, want.IDs) {
			r.Errorf("with the index %d are found, %v, without %d, %v, at most 1,000 and the same", got.Count, err, want.Count, wanted)
		}
		tickets, err := s.Door.FindTickets(c.keys[1], 1, q.Ranked, f)
		all, wanted := s.Door.FindTickets(c.keys[1], 1, q.Ranked, nil)
		if err != nil || wanted != nil || len(all) > 20 || !reflect.DeepEqual(tickets, all) {
			r.Errorf("with the index %d tickets are found, %v, without %d, %v, want the same", len(tickets), err, len(all), wanted)
		}
	})
}

// TestSearchesWhileAWriterWrites: whoever stays is found throughout by a key that sees both regionals; a key that sees one finds
// all of a church or nobody, as it moves to and fro.
func TestSearchesWhileAWriterWrites(t *testing.T) {
	t.Parallel()
	s := kvtest.Open(t)
	c := newCongregation(t, s)
	var rows []entry.Row
	for id := int64(2); id <= 40; id += 2 {
		rows = append(rows, row(t, record.Person, id, `{"full_name":"Ana Souza","church_id":1}`))
	}
	loaded(t, s, rows...)
	f := newFollower(t, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range int64(40) {
			patched(t, s, record.Church, 1, fmt.Sprintf(`{"regional_id":%d}`, 1+i%2))
			loaded(t, s, row(t, record.Person, i|1, `{"full_name":"Eva","church_id":1}`))
			f.follow(int(i % 4))
		}
	}()
	var readers sync.WaitGroup
	for n, key := range []int{2, 3} {
		readers.Go(func() {
			q := desk.Query{Surface: record.Admin, Kind: record.Person, Limit: 100, Finder: f}
			for i, running := 0, true; running; i++ {
				select {
				case <-done:
					running = false
				default:
				}
				if q.Search, q.Ranked = search.Parse("souza"), nil; i%2 == 0 {
					q.Search, q.Ranked = nil, search.ParseRanked("souza")
				}
				page, err := s.Desk.List(c.keys[key], q)
				if none := n == 0 && page.Count == 0; err != nil || page.Count != len(page.IDs) || page.Count != 20 && !none {
					t.Errorf("%d are found in %d, %v, want 20, or none in a regional that the church has left", len(page.IDs), page.Count, err)
				}
			}
		})
	}
	readers.Wait()
}
