package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/api/load"
	"doorward/api/load/kinds"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/record"
)

// ErrNotVacant says that a store holds records already.
var ErrNotVacant = errors.New("the store holds records already; a demo needs an empty one")

// Options say what congregation to make. The same options on the same day make the same one.
type Options struct {
	Size     string // s, m, l or xl; "" = s
	Seed     int64
	Progress func(done, total int64)
}

// Report says what was made, and what to try at a door.
type Report struct {
	People  int      `json:"people"`
	Tickets int      `json:"tickets"`
	Records int      `json:"records"`
	Event   int64    `json:"event_id"` // of an event that is open now
	Codes   []string `json:"codes"`    // of valid tickets there
}

// sizes are the demo congregations by their number of people.
var sizes = []struct {
	name   string
	people int
}{{"s", 300}, {"m", 5_000}, {"l", 50_000}, {"xl", 1_000_000}}

// demoEvent is the event that is open now; dailyEvent the one that admits once a day.
const (
	demoEvent  = 1
	dailyEvent = 2
)

// demoCodes is how many codes a report names.
const demoCodes = 3

// Make makes a fictional congregation in a vacant store: churches, people, groups, finances, events and tickets. ErrNotVacant,
// kinds.ErrUsage for an unknown size.
func Make(ctx context.Context, s *kv.Store, p auth.Principal, o Options) (Report, error) {
	people := 0
	for _, z := range sizes {
		if z.name == o.Size || z.name == "s" && o.Size == "" {
			people = z.people
		}
	}
	if people == 0 {
		return Report{}, fmt.Errorf("%w: --size: one of s, m, l and xl is wanted", kinds.ErrUsage)
	}
	if vacant, err := s.Desk.Vacant(); err != nil || !vacant {
		return Report{}, errors.Join(err, ErrNotVacant)
	}
	d := newDemo(people, o.Seed, s.Tables.Clock.Now().In(s.Tables.Clock.Zone()))
	rep, err := load.Filler{Store: s, Who: p, Total: d.total(), Progress: o.Progress}.Fill(ctx, d.records)
	if r := rep.Rejected; err == nil && len(r) > 0 {
		err = fmt.Errorf("demo: %d records refused, the first for its %s: %s", len(r), r[0].Column, r[0].Reason)
	}
	return d.report(), err
}

// section is one kind of a demo: how many records, and what the i-th one holds, from 0; its id is i + 1.
type section struct {
	kind  *record.Kind
	count int
	body  func(i int) []byte
}

// demo makes the records.
type demo struct {
	seed     uint64
	today    time.Time // midnight
	sections []section // each after those it refers to
}

// count is how many records of a kind are made.
func (d *demo) count(k *record.Kind) int {
	return d.sections[slices.IndexFunc(d.sections, func(s section) bool { return s.kind == k })].count
}

// records makes all records.
func (d *demo) records(yield func(load.Record) bool) {
	for _, s := range d.sections {
		for i := range s.count {
			if !yield(load.Record{Kind: s.kind, ID: i + 1, Body: s.body(i)}) {
				return
			}
		}
	}
}

// total is how many records are made in all.
func (d *demo) total() (n int) {
	for _, s := range d.sections {
		n += s.count
	}
	return n
}

// report names what the records will be, and the first valid tickets of the event that is open.
func (d *demo) report() Report {
	r := Report{People: d.count(record.Person), Tickets: d.count(record.Ticket), Records: d.total(), Event: demoEvent}
	for i := 0; i < r.Tickets && len(r.Codes) < demoCodes; i++ {
		if t := d.ticket(i); t.event == demoEvent && t.state == "valid" {
			r.Codes = append(r.Codes, t.code)
		}
	}
	return r
}

// members puts a JSON object together from names and values; a value that is nil is left out.
func members(pairs ...any) []byte {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		var v string
		switch x := pairs[i+1].(type) {
		case nil:
			continue
		case string:
			v = strconv.Quote(x)
		default:
			v = fmt.Sprint(x)
		}
		b.WriteString([]string{"{", ","}[min(b.Len(), 1)])
		b.WriteString(strconv.Quote(pairs[i].(string)) + ":" + v)
	}
	return []byte(b.String() + "}")
}
