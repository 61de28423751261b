package kv

import (
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/value"
)

// The flags of facts that staff have to review.
const (
	FlagNeedsReview  = "needs_review"  // a laptop wrote or brought the fact after it was revoked
	FlagClockSuspect = "clock_suspect" // the machine's clock was doubted when the fact was written
)

var (
	reviewFlags = []string{FlagNeedsReview, FlagClockSuspect}
	factKinds   = []*record.Kind{record.Checkin, record.Scan, record.Undo}
)

// Review is a fact that staff have to review.
type Review struct {
	Kind    *record.Kind
	ID      record.ID
	Event   int64
	Ticket  int64  // 0 = none
	Label   string // of the ticket, as Type and Order are
	Type    string
	Order   string
	Door    string
	At      time.Time // by the clock of the machine that wrote it
	Offset  *int64    // how far a peer's clock was ahead of that clock, in milliseconds; nil = not known
	Flags   []string
	Outcome string // of a refused scan
	Checkin string // the check-in that an undo takes back
	Node    string // that wrote it
	Key     int64  // 0 = none
}

// ReviewQuery is a page of the facts to review, in order of their ids, which is about that of time.
type ReviewQuery struct {
	Where         []Where // on event_id and flags; no flag = any of the two
	Offset, Limit int     // Limit 0: they are counted only
}

// ReviewPage is what Reviews answers.
type ReviewPage struct {
	Count int // of all pages
	Facts []Review
}

// Reviews lists the facts of p's events that staff have to review. *Forbidden; fault.ByField where a condition names an event that p
// does not see, or no such flag.
func (s *Store) Reviews(p Principal, q ReviewQuery) (page ReviewPage, err error) {
	if err := p.CheckKind(record.Admin, record.Checkin, "GET"); err != nil {
		return page, err
	}
	where, err := withFlags(q.Where)
	if err != nil {
		return page, err
	}
	err = s.view(func(v *sight) error {
		all, err := factsWhere(v, p, where)
		if err != nil {
			return err
		}
		page.Count = len(all)
		from := min(q.Offset, len(all))
		for _, f := range all[from:min(from+q.Limit, len(all))] {
			r, err := review(v, f)
			if err != nil {
				return err
			}
			page.Facts = append(page.Facts, r)
		}
		return nil
	})
	return page, err
}

// withFlags adds the condition that a fact has any flag of those to review, where none names a flag: fault.ByField for another flag.
func withFlags(where []Where) ([]Where, error) {
	var faults fault.ByField
	named := false
	for _, w := range where {
		if w.Field != "flags" {
			continue
		}
		named = true
		for _, flag := range w.In {
			if text, _ := flag.(string); !slices.Contains(reviewFlags, text) {
				faults.Add("flag", fault.InvalidChoice(text))
			}
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	if !named {
		where = append(slices.Clone(where), Where{Field: "flags", In: []any{FlagNeedsReview, FlagClockSuspect}})
	}
	return where, nil
}

// factID names a fact of any kind.
type factID struct {
	kind *record.Kind
	id   record.ID
}

// factsWhere are the facts of all kinds that p sees and that fulfil some conditions, in order of their ids.
func factsWhere(v *sight, p Principal, where []Where) (all []factID, err error) {
	for _, k := range factKinds {
		q := Query{Kind: k, Where: where}
		if err := checkChoices(v, p, q); err != nil {
			return nil, err
		}
		found, err := matchWhere(v, p, q, nil)
		if err != nil {
			return nil, err
		}
		for _, id := range found.everything() {
			all = append(all, factID{k, id})
		}
	}
	slices.SortStableFunc(all, func(a, b factID) int { return a.id.Compare(b.id) })
	return all, nil
}

// review reads one fact and what a door may know of its ticket.
func review(v *sight, f factID) (r Review, err error) {
	st, err := v.load(f.kind, f.id)
	if err != nil || st == nil {
		return r, orNotFound(err)
	}
	text := func(member string) string { return value.Unquote(st.body.Member(member)) }
	r = Review{Kind: f.kind, ID: f.id, Event: intOf(st.body.Member("event_id")), Ticket: intOf(st.body.Member("ticket_id")),
		Door: text("door"), Flags: texts(st.body.Member("flags")), Outcome: text("outcome"), Checkin: text("checkin_id"),
		Node: text("node"), Key: intOf(st.body.Member("key_id"))}
	r.At, _ = timeOf(st.body.Member("at")) // facts have one
	if ms := st.body.Member("clock_offset_ms"); ms.Kind() == '0' {
		n := intOf(ms)
		r.Offset = &n
	}
	ticket, err := v.load(record.Ticket, record.Int(r.Ticket))
	if err != nil || ticket == nil {
		return r, err
	}
	var of Decision
	err = describe(v, &of, Principal{}, ticket)
	r.Label, r.Type, r.Order = of.Label, of.Type, of.Order
	return r, err
}

// reviewGauges count the facts to review.
func reviewGauges(s *tables) (all []prometheus.Collector) {
	for _, k := range factKinds {
		for _, flag := range reviewFlags {
			all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "doorward_facts_to_review", Help: "Facts that staff have to review, by kind and flag.",
				ConstLabels: prometheus.Labels{"kind": k.Name, "flag": flag},
			}, func() float64 { return countFlagged(s, k, flag) }))
		}
	}
	return all
}

// countFlagged counts the facts of a kind with a flag; NaN where they cannot be read.
func countFlagged(s *tables, k *record.Kind, flag string) float64 {
	n := 0
	err := s.view(func(v *sight) error {
		ids, err := v.lookup(k, "flags", flag)
		n = len(ids)
		return err
	})
	if err != nil {
		return math.NaN()
	}
	return float64(n)
}
