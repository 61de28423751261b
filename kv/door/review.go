package door

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

var (
	reviewFlags = []string{admission.FlagNeedsReview, admission.FlagClockSuspect}
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
	Outcome string          // of a refused scan
	Verdict outcome.Outcome // why a guest whom a phone let in would have been refused
	Counts  string          // the check-in by which staff accepted that guest; "" = none
	Checkin string          // the check-in that an undo takes back
	Node    string          // that wrote it
	Key     int64           // 0 = none
}

// Reviews lists the facts of p's events that staff have to review, in order of their ids, which is about that of time. The conditions are on
// event_id and flags; no flag = any of the two. It returns a *Forbidden, and a fault.ByField if a condition names an event
// that p does not see or a flag that is unknown.
func (dk *Desk) Reviews(p auth.Principal, q desk.Part) (page desk.PageOf[Review], err error) {
	if err := p.CheckKind(record.Admin, record.Checkin, "GET"); err != nil {
		return page, err
	}
	where, err := withFlags(q.Where)
	if err != nil {
		return page, err
	}
	err = dk.tables.View(func(v *table.View) error {
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
			page.Items = append(page.Items, r)
		}
		return nil
	})
	return page, err
}

// withFlags adds the condition that a fact has one of the flags to review, unless a condition names a flag. It returns a fault.ByField for an
// unknown flag.
func withFlags(where []desk.Where) ([]desk.Where, error) {
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
		where = append(slices.Clone(where), desk.Where{Field: "flags", In: []any{admission.FlagNeedsReview, admission.FlagClockSuspect}})
	}
	return where, nil
}

// factID names a fact of any kind.
type factID struct {
	kind *record.Kind
	id   record.ID
}

// factsWhere are the facts of all kinds that p sees and that fulfil some conditions, in order of their ids.
func factsWhere(v *table.View, p auth.Principal, where []desk.Where) (all []factID, err error) {
	for _, k := range factKinds {
		q := desk.Query{Kind: k, Where: where}
		if err := desk.CheckChoices(v, p, q); err != nil {
			return nil, err
		}
		found, err := desk.Match(v, p, q, nil)
		if err != nil {
			return nil, err
		}
		for _, id := range found.Everything() {
			all = append(all, factID{k, id})
		}
	}
	slices.SortStableFunc(all, func(a, b factID) int { return a.id.Compare(b.id) })
	return all, nil
}

// review reads one fact and what a door may know of its ticket.
func review(v *table.View, f factID) (r Review, err error) {
	st, err := v.Load(f.kind, f.id)
	if err != nil || st == nil {
		return r, table.OrNotFound(err)
	}
	text := func(member string) string { return value.Unquote(st.Body.Member(member)) }
	r = Review{Kind: f.kind, ID: f.id, Event: value.Int(st.Body.Member("event_id")), Ticket: value.Int(st.Body.Member("ticket_id")),
		Door: text("door"), Flags: value.ReadTexts(st.Body.Member("flags")), Outcome: text("outcome"), Checkin: text("checkin_id"),
		Verdict: outcome.Outcome(text("verdict")), Node: text("node"), Key: value.Int(st.Body.Member("key_id"))}
	if r.Verdict != "" {
		accepted, err := acceptedBy(v, f.id)
		if err != nil {
			return r, err
		}
		if accepted != nil {
			r.Counts = record.Checkin.FormatID(accepted.ID)
		}
	}
	r.At, _ = table.TimeOf(st.Body.Member("at")) // facts have one
	if ms := st.Body.Member("clock_offset_ms"); ms.Kind() == '0' {
		n := value.Int(ms)
		r.Offset = &n
	}
	ticket, err := v.Load(record.Ticket, record.Int(r.Ticket))
	if err != nil || ticket == nil {
		return r, err
	}
	of := Decision{holding: entry.IDOfHolding(st.Body.Member("holding"))}
	err = describe(v, &of, auth.Principal{}, ticket)
	r.Label, r.Type, r.Order = of.Label, of.Type, of.Order
	return r, err
}

// Accept counts a guest whom a phone let in against a verdict, and whose check-in waits for staff: it writes a further check-in that says the
// same. It returns the id of that check-in after the commit; accepted once more, it is the same one unless that was undone. It returns a
// *Forbidden, ErrNotFound if p does not see the check-in, and a *Conflict if the check-in does not wait.
func (dk *Desk) Accept(p auth.Principal, id record.ID) (checkin string, err error) {
	if err := p.CheckKind(record.Admin, record.Checkin, "POST"); err != nil {
		return "", err
	}
	err = dk.tables.DoAtDoor(dk.standing.By(p, func(o *table.Tx) error {
		st, err := entry.Find(o.View, p, record.Checkin, id)
		if err != nil {
			return err
		}
		counts, err := accept(o, p, st)
		if err == nil {
			checkin = record.Checkin.FormatID(counts.ID)
		}
		return err
	}))
	return checkin, err
}

// accept returns the check-in by which another one counts, or writes it.
func accept(o *table.Tx, p auth.Principal, st *table.Stored) (*table.Stored, error) {
	c := admission.Of(st)
	if !c.Waits() {
		return nil, &table.Conflict{Reason: "only a guest whom a phone has let in, and who waits for staff, can be accepted"}
	}
	if err := mayDecide(o, c.Event); err != nil {
		return nil, err
	}
	if o.Store.Identity.IsRevoked() {
		return nil, table.Refused("this laptop is revoked: accept it at the centre")
	}
	counts, err := acceptedBy(o.View, st.ID)
	if err != nil || counts != nil {
		return counts, err
	}
	f := &fact{Checkin: admission.Checkin{Event: c.Event, Ticket: c.Ticket, CodeHash: c.CodeHash, List: c.List},
		holding: st.Body.Member("holding"), door: value.Unquote(st.Body.Member("door")), nonce: acceptNonce(st.ID)}
	f.at, _ = table.TimeOf(st.Body.Member("at")) // facts have one
	return putLetIn(o, p, f, c.Verdict)
}

// acceptNonce is the nonce of the check-in by which another one counts. No nonce of a key is the same.
func acceptNonce(checkin record.ID) string {
	sum := sha256.Sum256([]byte("accept\x00" + record.Checkin.FormatID(checkin)))
	return hex.EncodeToString(sum[:16])
}

// acceptedBy returns the check-in by which another one counts, that no undo names; nil for none.
func acceptedBy(v *table.View, checkin record.ID) (*table.Stored, error) {
	ids, err := v.Lookup(record.Checkin, "nonce", acceptNonce(checkin))
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if undone, err := admission.Undone(v, id); err != nil || undone {
			if err != nil {
				return nil, err
			}
			continue
		}
		return v.Load(record.Checkin, id)
	}
	return nil, nil
}

// ReviewGauges count the facts to review.
func ReviewGauges(s *table.Set) (all []prometheus.Collector) {
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

// countFlagged counts the facts of a kind with a flag. It returns NaN if they cannot be read.
func countFlagged(s *table.Set, k *record.Kind, flag string) float64 {
	n := 0
	err := s.View(func(v *table.View) error {
		ids, err := v.Lookup(k, "flags", flag)
		n = len(ids)
		return err
	})
	if err != nil {
		return math.NaN()
	}
	return float64(n)
}
