package door

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/names"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// fact is a record of a check-in, a refused scan or an undo before it is written.
type fact struct {
	admission.Checkin                // the event, the ticket, the code and the list that it is about; its place once it is written
	holding           jsontext.Value // of the ticket; nil: none
	reentry           bool           // the event lets its guests out and in again
	door              string
	at                time.Time     // by the wall clock
	suspect           bool          // the scanner's clock gave another time, which cannot be
	after             uint64        // the least hybrid time that it may have; 0 = that of the clock
	nonce             string        // hex; "" = none
	about             *table.Stored // the ticket; nil: none
}

// newFact begins a fact about a ticket of an event.
func newFact(o *table.Tx, a *attempt, event, ticket *table.Stored) *fact {
	at, suspect := a.moment(o.Now)
	return &fact{
		Checkin: admission.Checkin{Event: a.Event, Ticket: ticket.ID.Int(), CodeHash: table.HashOf(ticket.Body.Member("code_hash")), List: a.listOf(o, event)},
		holding: ticket.Body.Member("holding"), reentry: isReentry(event), door: a.Door, at: at, suspect: suspect, about: ticket,
	}
}

// moment is when an attempt was made, as its scanner says, but not before the scanner's key was made and not after now. suspect is true if the
// scanner says another time. The time in a file of another system is taken as it is.
func (a *attempt) moment(now time.Time) (at time.Time, suspect bool) {
	switch {
	case a.At.IsZero():
		return now, false
	case a.Told:
		return a.At, false
	}
	at = a.At
	if made := a.p.Made().Truncate(time.Second); at.Before(made) { // many clocks tell whole seconds
		at = made
	}
	if at.After(now) {
		at = now
	}
	return at, !at.Equal(a.At)
}

// listOf is the list of the event that an attempt is about.
func (a *attempt) listOf(o *table.Tx, event *table.Stored) string {
	day, _ := a.moment(o.Now)
	if o.Now.Before(day) {
		day = o.Now // a file with times ahead does not use up tomorrow's admission
	}
	return listOn(o.View, event, day)
}

// listOn is the list that an event admits to at a moment: the day for a daily event, otherwise the one list.
func listOn(v *table.View, event *table.Stored, at time.Time) string {
	if isDaily(event) {
		return dayOf(v, event, at)
	}
	return ""
}

func isDaily(event *table.Stored) bool {
	return string(event.Body.Member("list_rule")) == `"daily"`
}

// dayOf is the day of an event at a moment, as a date.
func dayOf(v *table.View, event *table.Stored, at time.Time) string {
	return beginOf(event).DayOf(at, v.Store.Clock.Zone())
}

// beginOf is when an event's days begin.
func beginOf(event *table.Stored) value.TimeOfDay {
	if begins, ok := value.ParseTimeOfDay(value.Unquote(event.Body.Member("day_begins"))); ok {
		return begins
	}
	return record.DayBegins // another store may have written anything
}

// putFact gives a fact its place in the order and writes it as a record of a kind. If more is not nil, it adds the members that only this
// kind has.
func putFact(o *table.Tx, k *record.Kind, p auth.Principal, f *fact, more func(*record.Draft)) {
	f.Place = admission.Place{Hlc: max(o.State.Tick(o.Now), f.after), ID: table.NewFactID(o.Now)}
	d := record.NewDraft(k)
	d.Int("event_id", f.Event)
	if f.Ticket != 0 {
		d.Int("ticket_id", f.Ticket)
	}
	if f.holding != nil {
		d.Raw("holding", f.holding)
	}
	d.Hex("code_hash", f.CodeHash[:])
	d.Text("list", f.List)
	if f.Out {
		d.Text("direction", string(admission.Out))
	}
	d.Text("door", f.door)
	if p.Key() != 0 {
		d.Int("key_id", p.Key())
	}
	d.Text("node", o.Store.Identity.Node())
	var hlc [8]byte
	binary.BigEndian.PutUint64(hlc[:], f.Hlc)
	d.Hex("hlc", hlc[:])
	d.Time("at", f.at)
	if ms, ok := o.Store.Clock.Offset(); ok {
		d.Int("clock_offset_ms", ms)
	}
	if f.nonce != "" {
		d.Text("nonce", f.nonce)
	}
	if flags := factFlags(o, p, f); len(flags) > 0 {
		d.Raw("flags", value.Texts(flags...))
	}
	if more != nil {
		more(&d)
	}
	writeFact(o, k, p, f, &d)
}

// factFlags are the flags of a fact that is written now.
func factFlags(o *table.Tx, p auth.Principal, f *fact) (flags []string) {
	if o.Doubted || f.suspect {
		flags = append(flags, admission.FlagClockSuspect)
	}
	if o.Store.Identity.IsRevoked() || p.IsRevoked() {
		flags = append(flags, admission.FlagNeedsReview)
	}
	return flags
}

// writeFact stores a new fact and its lookups.
func writeFact(o *table.Tx, k *record.Kind, p auth.Principal, f *fact, d *record.Draft) {
	body, canonical := d.Close()
	st := &table.Stored{ID: f.ID, Body: body, Header: table.Header{Version: k.Version, UpdatedAt: o.Stamp, UpdatedBy: p.Key()}}
	st.Scopes[0] = scopes.Scope{Sort: scopes.Event, ID: f.Event}
	st.Revision = rev.Next(rev.ID{}, false, canonical)
	admission.IndexFact(o, k, st)
	table.Place(o, k, nil, st)
}

// admit writes an admission and answers it.
func admit(o *table.Tx, a *attempt, f *fact) (Decision, error) {
	if err := enter(o, a, f, nil); err != nil {
		return Decision{}, err
	}
	d := Decision{Outcome: outcome.Admitted, CheckinID: record.Checkin.FormatID(f.ID), AdmittedAt: f.at.UTC().Truncate(time.Microsecond),
		Door: f.door, SecondsAgo: max(0, int64(o.Now.Sub(f.at)/time.Second)), SameDoor: true}
	return d, describe(o.View, &d, a.p, f.about)
}

// enter writes a check-in and its rows. Where guests come back, and where one is inside already, it comes after all that are known of its
// code and its ticket. The store's own clock stays.
func enter(o *table.Tx, a *attempt, f *fact, more func(*record.Draft)) (err error) {
	f.nonce = a.nonce
	if f.reentry || a.LetIn {
		if f.after, err = f.Next(o.View, o.State.Hlc); err != nil {
			return err
		}
	}
	putFact(o, record.Checkin, a.p, f, more)
	admission.Add(o, &f.Checkin)
	return nil
}

// offline is the basis of a check-in by which a scanner let the guest in before it asked this store.
const offline = "offline"

// letIn writes a further check-in of a guest that is inside already. d is the decision about the first admission.
func letIn(o *table.Tx, a *attempt, f *fact, d Decision) (Decision, error) {
	if err := enter(o, a, f, func(d *record.Draft) { d.Text("basis", offline) }); err != nil {
		return d, err
	}
	d.Double = record.Checkin.FormatID(f.ID)
	if err := admission.Settle(o, f.ID); err != nil {
		return d, err
	}
	return d, describe(o.View, &d, a.p, f.about)
}

// letInRefused writes a check-in of a guest whom a phone has let in and who is refused. d is the refusal. A guest of a revoked key's phone is
// counted once staff accept the check-in.
func letInRefused(o *table.Tx, a *attempt, f *fact, d Decision) (_ Decision, err error) {
	if a.p.IsRevoked() {
		ok, _, err := table.Spend(o, a.p.Key(), o.Store.Rules.Limits.LetIn, 0)
		if err != nil {
			return d, err
		}
		if !ok {
			return d, table.Refused("the phone of a revoked key has let in too many guests with tickets that are refused")
		}
	}
	f.nonce = a.nonce
	if f.after, err = f.Next(o.View, o.State.Hlc); err != nil {
		return d, err
	}
	mine, err := putLetIn(o, a.p, f, d.Outcome)
	if err != nil {
		return d, err
	}
	now := letInDecision(o.View, mine, a.Door)
	if f.about == nil {
		return now, nil
	}
	return now, describe(o.View, &now, a.p, f.about)
}

// putLetIn writes a check-in with a verdict, and what follows from it.
func putLetIn(o *table.Tx, p auth.Principal, f *fact, verdict outcome.Outcome) (*table.Stored, error) {
	putFact(o, record.Checkin, p, f, func(d *record.Draft) {
		d.Text("basis", offline)
		d.Text("verdict", string(verdict))
	})
	mine, err := o.Load(record.Checkin, f.ID)
	if err != nil || mine == nil {
		return nil, table.OrNotFound(err)
	}
	return mine, admission.SettleFact(o, record.Checkin, mine)
}

// letInDecision is the decision about a check-in with a verdict.
func letInDecision(v *table.View, mine *table.Stored, here string) Decision {
	d := decisionOf(v, admission.Of(mine).Verdict, mine, here)
	d.Double = d.CheckinID
	return d
}

// reentry is the list_rule of an event that lets its guests out and in again.
const reentry = "reentry"

func isReentry(event *table.Stored) bool {
	return value.Unquote(event.Body.Member("list_rule")) == reentry
}

// keepsOut is the check-in by which a guest has come in and does not come in once more, of the ticket and on the list of c; nil for none. A
// way out leaves the guest outside where doors lead out. Where they only lead in, it is of another clock or of the event's past, and lets in
// no guest twice.
func keepsOut(v *table.View, event *table.Stored, c *admission.Checkin) (*table.Stored, error) {
	if isReentry(event) {
		return admission.First(v, c)
	}
	return admission.Came(v, c)
}

// errNoWay is the fault of a door that leads out, or in again, at an event that only leads in.
var errNoWay = fault.ByField{"direction": {"The event's list_rule is not reentry: its doors lead in."}}

// wayAllowed returns errNoWay if the event does not let guests out and the way is not in.
func wayAllowed(event *table.Stored, way Way) error {
	if way == "" || way == In || isReentry(event) {
		return nil
	}
	return errNoWay
}

// letOut lets a guest out that is inside. The state of the ticket and of the event does not matter: no guest is kept inside.
func letOut(o *table.Tx, a *attempt, f *fact) (Decision, error) {
	first, err := admission.First(o.View, &f.Checkin)
	if err != nil {
		return Decision{}, err
	}
	if first == nil {
		d := Decision{Outcome: outcome.NotInside}
		out, err := admission.LastOut(o.View, &f.Checkin)
		if err != nil {
			return d, err
		}
		if out != nil {
			d.OutSince, _ = table.TimeOf(out.Body.Member("at")) // facts have one
		}
		return refuse(o, a, f, d)
	}
	f.Out = true
	if err := f.Fewer(o.View, o.Store.Rules.Limits.Checkins, "the code has gone in and out too often"); err != nil {
		return Decision{}, err
	}
	if err := enter(o, a, f, nil); err != nil {
		return Decision{}, err
	}
	if err := admission.Settle(o, f.ID); err != nil {
		return Decision{}, err
	}
	mine, err := o.Load(record.Checkin, f.ID)
	if err != nil || mine == nil {
		return Decision{}, table.OrNotFound(err)
	}
	d := leaving(o.View, mine, first, a.Door)
	return d, describe(o.View, &d, a.p, f.about)
}

// leaving is the decision about a check-in out: its id, and when and where the guest came in, if that is known.
func leaving(v *table.View, mine, first *table.Stored, here string) Decision {
	if first == nil {
		first = mine
	}
	d := decisionOf(v, outcome.Left, first, here)
	d.CheckinID = record.Checkin.FormatID(mine.ID)
	return d
}

// readmit admits a guest at a door for re-entry. It refuses a guest that was never inside.
func readmit(o *table.Tx, a *attempt, f *fact) (Decision, error) {
	came, err := admission.Came(o.View, &f.Checkin)
	if err != nil {
		return Decision{}, err
	}
	if came == nil {
		return refuse(o, a, f, Decision{Outcome: outcome.NotInside})
	}
	return admit(o, a, f)
}

// nonceOf is the nonce of a fact: a hash of the key's id, the event and the Idempotency-Key. It is the same at every node. A file tells the
// same check-in by whatever key it is imported.
func nonceOf(p auth.Principal, a Attempt) string {
	if a.Nonce == "" {
		return ""
	}
	key := p.Key()
	if a.Told {
		key = 0
	}
	h := sha256.New()
	h.Write(strconv.AppendInt(nil, key, 10))
	h.Write([]byte{0})
	h.Write(strconv.AppendInt(nil, a.Event, 10))
	h.Write([]byte{0})
	h.Write([]byte(a.Nonce))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// replayAttempt answers an attempt with a nonce that a check-in carries already. The same code gets the first answer, unless that
// check-in is undone. Another code gets ErrKeyReused.
func replayAttempt(o *table.Tx, a *attempt, event, ticket *table.Stored) (d Decision, done bool, err error) {
	if a.nonce == "" {
		return d, false, nil
	}
	ids, err := o.Lookup(record.Checkin, "nonce", a.nonce)
	if err != nil {
		return d, false, err
	}
	for _, id := range ids {
		undone, err := admission.Undone(o.View, id)
		if err != nil {
			return d, false, err
		}
		first, err := o.Load(record.Checkin, id)
		if err != nil || first == nil {
			return d, false, err
		}
		if !brings(a, ticket, first) || admission.Of(first).Out != (a.Way == Out) {
			return d, false, table.ErrKeyReused
		}
		if undone || a.Told && !tells(o, a, event, first) {
			continue
		}
		if d, err = repeated(o, first, a); err != nil {
			return d, false, err
		}
		d.Replayed = true
		if ticket == nil {
			return d, true, nil // its code has changed since, or it was deleted: there is nothing to show of it
		}
		return d, true, describe(o.View, &d, a.p, ticket)
	}
	return d, false, nil
}

// toldUndone finds a check-in of the ticket that was undone, if a file tells of no later moment than that check-in and its undo. A file that gives no
// moment tells of none. The undo stands then: what is told is the same entry.
func toldUndone(o *table.Tx, a *attempt, event, ticket *table.Stored) (d Decision, found bool, err error) {
	ids, err := o.Lookup(record.Checkin, "nonce", a.nonce) // of another ticket, where that was merged into this one or imported again
	if err != nil {
		return d, false, err
	}
	all, err := admission.OfTicket(o.View, ticket.ID)
	if err != nil {
		return d, false, err
	}
	for _, id := range append(ids, all...) {
		undo, err := admission.UndoOf(o.View, id)
		if err != nil {
			return d, false, err
		}
		if undo == nil {
			continue
		}
		undone, err := o.Load(record.Checkin, id)
		if err != nil {
			return d, false, err
		}
		if undone == nil || !tells(o, a, event, undone) {
			continue
		}
		if a.At.IsZero() || !a.At.After(latestOf(undo)) || !a.At.After(latestOf(undone)) {
			d := decisionOf(o.View, outcome.Undone, undone, a.Door)
			d.Replayed = true
			return d, true, nil
		}
	}
	return d, false, nil
}

// tells tells whether a check-in is the entry that a file tells: it is of this event, and on the same list. It also is if it has the same moment, or if the
// file gives none and told it before.
func tells(o *table.Tx, a *attempt, event, checkin *table.Stored) bool {
	c := admission.Of(checkin)
	at, _ := table.TimeOf(checkin.Body.Member("at"))
	return c.Event == a.Event && (c.List == a.listOf(o, event) || at.Equal(a.At) || a.At.IsZero() && value.Unquote(checkin.Body.Member("nonce")) == a.nonce)
}

// latestOf is the later one of the two times that a fact has: that of its node's clock, which may be slow, and the hybrid time.
func latestOf(st *table.Stored) time.Time {
	at, _ := table.TimeOf(st.Body.Member("at")) // facts have one
	if hybrid := time.UnixMilli(int64(admission.Of(st).Hlc >> 16)); hybrid.After(at) {
		return hybrid
	}
	return at
}

// brings tells whether an attempt brings the code of a check-in: that of its ticket, or the very code that was read then, whatever has
// become of the ticket since.
func brings(a *attempt, ticket, first *table.Stored) bool {
	hash := table.HashOf(first.Body.Member("code_hash"))
	return ticket != nil && table.HashOf(ticket.Body.Member("code_hash")) == hash || slices.Contains(a.exact, hash)
}

// repeated is the answer that was given when a check-in was written.
func repeated(o *table.Tx, mine *table.Stored, a *attempt) (Decision, error) {
	c := admission.Of(mine)
	if c.Verdict != "" {
		return letInDecision(o.View, mine, a.Door), nil
	}
	if !c.Out && value.Unquote(mine.Body.Member("basis")) != offline {
		return decisionOf(o.View, outcome.Admitted, mine, a.Door), nil
	}
	first, err := c.Entered(o.View)
	if err != nil {
		return Decision{}, err
	}
	if c.Out {
		return leaving(o.View, mine, first, a.Door), nil
	}
	if first == nil {
		first = mine // of a list that no longer counts
	}
	d := decisionOf(o.View, outcome.AlreadyAdmitted, first, a.Door)
	d.Double = record.Checkin.FormatID(mine.ID)
	return d, nil
}

// decisionOf is the decision about a stored admission, as a door is told it.
func decisionOf(v *table.View, out outcome.Outcome, first *table.Stored, here string) Decision {
	at, _ := table.TimeOf(first.Body.Member("at")) // written by admit
	door := value.Unquote(first.Body.Member("door"))
	return Decision{
		Outcome: out, CheckinID: record.Checkin.FormatID(first.ID), AdmittedAt: at, Door: door,
		SecondsAgo: max(0, int64(v.Now.Sub(at)/time.Second)), SameDoor: door == here, holding: entry.IDOfHolding(first.Body.Member("holding")),
	}
}

// describe adds to a decision what the door may know of the ticket, and the holder's name if the key sees names. Of an admission it
// describes the holding that came, of a refusal the present one.
func describe(v *table.View, d *Decision, p auth.Principal, ticket *table.Stored) (err error) {
	if p.IsRevoked() {
		return nil // a revoked phone hands in what it knows and learns nothing
	}
	d.Type = value.Unquote(ticket.Body.Member("type"))
	d.Order = value.Unquote(ticket.Body.Member("order"))
	switch d.Outcome { // a time that is none stays zero
	case outcome.NotYetValid:
		d.ValidFrom, _ = table.TimeOf(ticket.Body.Member("valid_from"))
	case outcome.NoLongerValid:
		d.ValidUntil, _ = table.TimeOf(ticket.Body.Member("valid_until"))
	}
	if d.Notice, err = noticeOf(v, ticket); err != nil {
		return err
	}
	holding := d.holding
	if holding.IsZero() {
		holding = entry.PresentOf(ticket.Body)
	}
	if d.Label, err = entry.LabelOf(v, holding); err != nil || holding.IsZero() || !seesHolders(p) {
		return v.Store.Damage.Skip(err) // a damaged name keeps no guest out
	}
	name, err := v.Load(record.HolderName, holding)
	if err == nil && name != nil {
		err = table.Unshown(v, record.HolderName, name)
	}
	if err != nil || name == nil {
		return v.Store.Damage.Skip(err)
	}
	if full := value.Unquote(name.Body.Member("full_name")); full != "" {
		d.Holder = &full
	}
	return nil
}

// refuse answers a refusal. It writes a scan unless an equal one was written within the last minute; of a guest whom a phone has let in it
// writes a check-in.
func refuse(o *table.Tx, a *attempt, f *fact, d Decision) (Decision, error) {
	if a.LetIn && a.Way != Out && d.Outcome.Refuses() {
		return letInRefused(o, a, f, d)
	}
	if f.about != nil {
		if err := describe(o.View, &d, a.p, f.about); err != nil {
			return d, err
		}
	}
	if !o.Doors.Note(table.RefusalKey{Event: f.Event, Door: f.door, Code: f.CodeHash, Outcome: d.Outcome}, a.p.Key(), o.Now) {
		return d, nil
	}
	putFact(o, record.Scan, a.p, f, func(draft *record.Draft) {
		draft.Text("outcome", string(d.Outcome))
		draft.Int("length", int64(utf8.RuneCountInString(a.Code)))
	})
	return d, nil
}

// refuseUnknown refuses a code that no ticket of the event has: as WrongEvent if another event has it that the asker may hear of, else as
// UnknownCode.
func refuseUnknown(o *table.Tx, a *attempt, event *table.Stored) (Decision, error) {
	other, err := elsewhere(o, a, event)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Outcome: outcome.UnknownCode}
	if other {
		d.Outcome = outcome.WrongEvent
	}
	at, suspect := a.moment(o.Now)
	f := &fact{Checkin: admission.Checkin{Event: a.Event, List: a.listOf(o, event)}, door: a.Door, at: at, suspect: suspect}
	if len(a.exact) > 0 {
		f.CodeHash = a.exact[0]
	}
	return refuse(o, a, f, d)
}

// seesHolders reports whether a decision may name the ticket's holder: only to a key of church level and above that may read events.
func seesHolders(p auth.Principal) bool {
	return !p.IsOf(auth.EventOf) && (p.Check(record.Event.Resource, "GET") == nil || p.Check("admin", "GET") == nil)
}

// An event can mark types of tickets that need attention at the door. Its notices are an object from a type to a text. Types are compared
// without case and accents, so "Criança" is "crianca". A notice that is not a text is shown as it stands, because it still marks the type.

// noticeOf is what a door says of a ticket's type; "" for nothing.
func noticeOf(v *table.View, ticket *table.Stored) (string, error) {
	event, err := v.Load(record.Event, record.Int(value.Int(ticket.Body.Member("event_id"))))
	if err != nil || event == nil {
		return "", err
	}
	return noticeFor(event.Body.Member("notices"), value.Unquote(ticket.Body.Member("type"))), nil
}

// noticeFor finds a type's notice in an event's notices.
func noticeFor(notices jsontext.Value, sort string) (notice string) {
	if notices.Kind() != '{' {
		return ""
	}
	of := plainType(sort)
	_ = value.ReadObject(notices, func(name string, v jsontext.Value) { // a stored member is valid
		if plainType(name) == of {
			notice = noticeText(v)
		}
	})
	return notice
}

func noticeText(v jsontext.Value) string {
	switch v.Kind() {
	case 'n', 'f':
		return ""
	case '"':
		return strings.TrimSpace(value.Unquote(v))
	}
	return string(v)
}

func plainType(sort string) string { return strings.TrimSpace(names.Fold(sort)) }
