package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"doorward/api/load/kinds"
	"doorward/kv"
)

// ErrNotVacant says that a store holds records already.
var ErrNotVacant = errors.New("the store holds records already; a demo needs an empty one")

// DemoOptions say what congregation to make. The same options on the same day make the same one.
type DemoOptions struct {
	Size     string // s, m, l or xl; "" = s
	Seed     int64
	Progress func(done, total int64)
}

// DemoReport says what was made, and what to try at a door.
type DemoReport struct {
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

// Demo makes a fictional congregation in a vacant store: churches, people, groups, finances, events and tickets. ErrNotVacant,
// ErrUsage for an unknown size.
func Demo(ctx context.Context, s *kv.Store, p kv.Principal, o DemoOptions) (DemoReport, error) {
	people := 0
	for _, z := range sizes {
		if z.name == o.Size || z.name == "s" && o.Size == "" {
			people = z.people
		}
	}
	if people == 0 {
		return DemoReport{}, fmt.Errorf("%w: --size: one of s, m, l and xl is wanted", ErrUsage)
	}
	if vacant, err := s.Vacant(); err != nil || !vacant {
		return DemoReport{}, errors.Join(err, ErrNotVacant)
	}
	d := newDemo(people, o.Seed, s.Now().In(s.Zone()))
	return d.report(), fill(ctx, s, p, d, o.Progress)
}

// fill imports the demo's records as if they came from a file.
func fill(ctx context.Context, s *kv.Store, p kv.Principal, d *demo, progress func(done, total int64)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	im := &importer{
		writer: writer{store: s, who: p}, ctx: ctx, cancel: cancel, in: d, progress: progress, total: int64(d.total()),
		maker: maker{zone: s.Zone()}, ready: make(chan *batch, writers), done: make(chan *batch, writers),
	}
	im.run()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if r := im.report.Rejected; len(r) > 0 {
		return fmt.Errorf("demo: %d records refused, the first for its %s: %s", len(r), r[0].Column, r[0].Reason)
	}
	return nil
}

// section is one kind of a demo: how many records, and what the i-th one holds, from 0; its id is i + 1.
type section struct {
	form  kinds.Form
	count int
	body  func(i int) []byte
}

// demo reads as a file of drafts.
type demo struct {
	size     plan
	seed     uint64
	sections []section
	at, i, n int
}

func (d *demo) ignored() []string { return nil }

func (d *demo) close() error { return nil }

func (d *demo) next() (draft, *Rejection, error) {
	for d.at < len(d.sections) && d.i == d.sections[d.at].count {
		d.at, d.i = d.at+1, 0
	}
	if d.at == len(d.sections) {
		return draft{}, nil, io.EOF
	}
	s := &d.sections[d.at]
	d.n++
	out := draft{line: d.n, form: s.form, body: s.body(d.i), event: true, column: sameName, id: strconv.Itoa(d.i + 1)}
	d.i++
	return out, nil, nil
}

func (d *demo) total() (n int) {
	for _, s := range d.sections {
		n += s.count
	}
	return n
}

// report names what the records will be, and the first valid tickets of the event that is open.
func (d *demo) report() DemoReport {
	r := DemoReport{People: d.size.people, Tickets: d.size.tickets, Records: d.total(), Event: demoEvent}
	for i := 0; i < d.size.tickets && len(r.Codes) < demoCodes; i++ {
		if t := d.ticket(i); t.event == demoEvent && t.state == "valid" {
			r.Codes = append(r.Codes, t.code)
		}
	}
	return r
}

// arrange puts sections in the order of their references.
func arrange(bodies map[string]section) (out []section) {
	for _, f := range kinds.All() {
		if s, ok := bodies[f.Kind.Name]; ok {
			s.form = f
			out = append(out, s)
		}
	}
	return slices.Clip(out)
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
