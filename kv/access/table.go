package access

import (
	"doorward/kv/record"
	"doorward/kv/scopes"
)

// row is one rule: each field is a set, and the row fits where all of them hold what the question names.
type row struct {
	who     class
	kinds   kinds
	verbs   Verb
	sorts   sorts
	ties    Tie
	grants  grant // one of these is needed; 0 = none
	verdict Verdict
}

type table []row

// kinds is a set of kinds by their numbers.
type kinds uint64

// sorts is a set of scopes' sorts. inMirror is in it for the mirror, and for records that no other database holds.
type sorts uint16

const (
	inMirror   sorts = 1
	reference  sorts = 1 << scopes.Reference
	refFinance sorts = 1 << scopes.ReferenceFinance
	church     sorts = 1 << scopes.Church
	money      sorts = 1 << scopes.ChurchFinance
	event      sorts = 1 << scopes.Event
	names      sorts = 1 << scopes.EventNames
	holders    sorts = 1 << scopes.EventHolders
	labels     sorts = 1 << scopes.EventLabels
	system     sorts = 1 << scopes.System

	ofEvent     = event | names | holders // of what laptops write; labels are derived by the root alone
	anyDatabase = reference | refFinance | church | money | ofEvent | labels | system
	anywhere    = anyDatabase | inMirror
)

// Sets of kinds.
var (
	unknown kinds = 1 // of a kind that this version does not know
	facts         = having(func(k *record.Kind) bool { return k.Fact })
	parts         = of(record.TicketCode, record.HolderName, record.Holder)
	derived       = of(record.HolderLabel)
	tickets       = of(record.Ticket) | parts
	servers       = having(func(k *record.Kind) bool { return k.System }) &^ parts
	stored        = having(func(*record.Kind) bool { return true })

	everyones  = ofClass(record.Everyones)
	finances   = ofClass(record.Finances)
	ofChurches = ofClass(record.Churches) | ofClass(record.Members)
	shared     = ofClass(record.Shared)
	ofEvents   = ofClass(record.Events)
)

// pushes are the rules of replication (sync.md §1).
var pushes = table{
	{everyone, facts, Change | Remake | Delete, anywhere, anyTie, 0, oneRevision},
	{root, stored, Read | writes, anywhere, anyTie, 0, Yes},
	{root, unknown, Read | writes, anyDatabase, anyTie, 0, Yes},
	{changesFile, stored&^servers | derived | of(record.Erasure) | unknown, writes, anywhere, anyTie, 0, Yes},

	// A revoked laptop reads nothing, and brings its own facts.
	{revokedLaptop, facts, Make, event, Own | Churchless | Guest | Lent | Had | Gone, 0, Review},

	// A laptop brings its own facts, also of an event that has left it since.
	{churchLaptop | eventLaptop, facts, Make, event, Own | Churchless | Guest | Lent | Had | Gone, 0, ownOnly},
	// A mirror writes nothing but at events that it was enrolled for, and there as a guest.
	{mirrorLaptop, facts, Make, event, Guest | Had, 0, ownOnly},
	// It sells tickets, and writes all tickets of its own churches' events.
	{eventLaptop, tickets, writes, ofEvent, Own | Lent, 0, ownOnly},
	{churchLaptop, tickets, writes, ofEvent, Own, 0, Yes},
	{churchLaptop | mirrorLaptop, tickets, writes, ofEvent, Guest | Lent, 0, ownOnly},
	// A laptop of a church writes the church.
	{churchLaptop, of(record.Person, record.Group, record.Membership), writes, church, Own, 0, Yes},
	{churchLaptop, of(record.Event), writes, church, Own, 0, Yes},
	{churchLaptop, of(record.Event), writes, event, Own | Gone | New, 0, Yes},
	{churchLaptop, of(record.FinancialEntry), writes, money, Own, withFinance, Yes},
	// What a newer laptop writes is kept where a known kind would be.
	{eventLaptop, unknown, writes, ofEvent, Own | Lent, 0, Yes},
	{churchLaptop | mirrorLaptop, unknown, writes, ofEvent, Guest | Lent, 0, Yes},
	{churchLaptop, unknown, writes, church | ofEvent, Own, 0, Yes},
	{churchLaptop, unknown, writes, event, Gone | New, 0, Yes},
	{churchLaptop, unknown, writes, money, Own, withFinance, Yes},
	// The documents of an event that has left the laptop are refused one by one, so that staff have them and its facts come through.
	{laptops, 0, offer, ofEvent, Churchless | Lent | Had | Gone, 0, Yes},

	// Other keys write what /v1 writes.
	{denominationKey | regionalKey | churchKey, of(record.Person), Make | Change, church, Own, 0, Yes},
	{denominationKey | regionalKey | churchKey, of(record.Membership), Make, church, Own, 0, Yes},
	{denominationKey | regionalKey | churchKey, of(record.FinancialEntry), Make | Change | Delete, money, Own, 0, Yes},
	{keys, stored &^ facts &^ servers, Remake, anywhere, anyTie, 0, wasDeleted},

	// Which class reads which database.
	{keys | laptops, everyones, Read, reference, anyTie, 0, Yes},
	{atChurch, shared | unknown, Read, reference, anyTie, 0, Yes},
	{atChurch, finances | unknown, Read, refFinance, anyTie, 0, Yes},
	{atChurch, within(scopes.Church) | unknown, Read, church, Own, 0, Yes},
	{atChurch & keys, within(scopes.ChurchFinance) | unknown, Read, money, Own, 0, Yes},
	{atChurch & laptops, within(scopes.ChurchFinance) | unknown, Read, money, Own, withFinance | withMirror, Yes},
	{keys | laptops, within(scopes.Event) | unknown, Read, event, Own | Churchless | Guest, 0, Yes},
	{laptops, within(scopes.EventNames) | unknown, Read, names, Own | Churchless | Guest, withNames | withMirror, Yes},
	{keys, within(scopes.EventLabels) | unknown, Read, labels, Own | Churchless, 0, Yes},
	{laptops, within(scopes.EventLabels) | unknown, Read, labels, Own | Churchless | Guest, withLabels | withMirror, Yes},
	{atChurch & laptops, within(scopes.EventHolders) | unknown, Read, holders, Own | Churchless | Guest, 0, Yes},
	{laptops, stored | unknown, Read, inMirror, anyTie, withMirror, Yes},

	// All else is refused.
	{revokedLaptop, stored | unknown, Read | writes, anywhere, anyTie, 0, isRevoked},
	{everyone, unknown, Read | writes, anywhere, anyTie, 0, NoKind},
	{changesFile, stored, Read | writes, anywhere, anyTie, 0, NotInFiles},
	{laptops, stored, Read | writes, anywhere, anyTie, 0, otherLevel},
	{keys, facts | servers, Read | writes, anywhere, anyTie, 0, laptopsOnly},
	{keys, stored, Read | writes, anywhere, anyTie, 0, NoKey},
}

// Sets of classes by level. A laptop has a level as a key has.
const (
	whole    = root | denominationKey | mirrorLaptop
	atChurch = denominationKey | regionalKey | churchKey | mirrorLaptop | churchLaptop // and above
	atEvent  = eventKey | eventLaptop
)

// desk are the rules of /v1 and /admin (contract.md §7). Facts are written at the door, and what the server writes by itself is no
// principal's to write. What no row allows is refused.
var desk = table{
	{whole, stored, Read, anywhere, anyTie, 0, Yes},
	{root | denominationKey, stored &^ facts &^ servers &^ parts, writes, anywhere, anyTie, 0, Yes},
	{root | denominationKey, parts, Change, anywhere, anyTie, 0, Yes}, // of a ticket: it is made and deleted as a whole

	{atChurch, everyones | finances, Read, anywhere, anyTie, 0, Yes},
	{atChurch, ofChurches | shared | ofEvents, Read, anywhere, Own, 0, Yes},
	{atChurch, shared | ofEvents, Read, anywhere, Churchless, 0, Yes},
	{regionalKey | churchKey, ofChurches | shared, writes, anywhere, Own, 0, Yes},
	{regionalKey | churchKey | eventKey, of(record.Ticket), writes, anywhere, Own, 0, Yes},
	{regionalKey | churchKey | eventKey, parts, Change, anywhere, Own, 0, Yes},

	{atEvent, everyones, Read, anywhere, anyTie, 0, Yes},
	{atEvent, of(record.Event) | ofEvents, Read, anywhere, Own, 0, Yes},
}

// judge returns the verdict of the first row that fits. If an earlier row fits except for the spot, a refusal becomes notYours.
func (t table) judge(w rights, v Verb, k *record.Kind, s Spot) Verdict {
	kind, near := of(k), false
	for i := range t {
		r := &t[i]
		switch {
		case r.who&w.class == 0, r.kinds&kind == 0, r.verbs&v == 0, r.grants != 0 && r.grants&w.grants == 0:
		case !r.at(s):
			near = true
		case near && r.verdict.Refuses():
			return notYours
		default:
			return r.verdict
		}
	}
	return NoKind
}

// any reports whether a row allows one of some verbs, to any kind, at a spot.
func (t table) any(w rights, v Verb, s Spot) bool {
	for i := range t {
		r := &t[i]
		if !r.verdict.Refuses() && r.fits(w) && r.verbs&v != 0 && r.at(s) {
			return true
		}
	}
	return false
}

// makes reports whether a row allows records of a kind to be made, at any spot.
func (t table) makes(w rights, k *record.Kind) bool {
	kind := of(k)
	for i := range t {
		if r := &t[i]; !r.verdict.Refuses() && r.fits(w) && r.kinds&kind != 0 && r.verbs&Make != 0 {
			return true
		}
	}
	return false
}

// fits reports whether the rule is about a principal.
func (r *row) fits(w rights) bool {
	return r.who&w.class != 0 && (r.grants == 0 || r.grants&w.grants != 0)
}

// at reports whether the rule is about a spot.
func (r *row) at(s Spot) bool { return r.sorts>>s.Sort&1 != 0 && r.ties&s.Tie != 0 }

// of is the set of some kinds; nil is the unknown kind.
func of(all ...*record.Kind) (set kinds) {
	for _, k := range all {
		if k == nil {
			set |= unknown
		} else {
			set |= 1 << k.Number
		}
	}
	return set
}

func having(is func(*record.Kind) bool) (set kinds) {
	for _, k := range record.Kinds() {
		if is(k) {
			set |= of(k)
		}
	}
	return set
}

func ofClass(c record.Class) kinds { return having(func(k *record.Kind) bool { return k.Class == c }) }

// within are the kinds that a scope of a sort may hold.
func within(s scopes.Sort) kinds { return of(record.KindsIn(s)...) }
