package access

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/scopes"
)

// class is the class of a principal in the rules.
type class uint16

// The classes. A laptop is a key of class node.
const (
	root            class = 1 << iota // the operator, and the replicator of this store
	denominationKey                   // a key that sees everything
	regionalKey                       // a key of the churches of regionals
	churchKey                         // a key of churches
	eventKey                          // a key of events
	mirrorLaptop                      // a laptop that sees everything: it was enrolled with --mirror and for no church
	churchLaptop                      // a laptop of churches
	eventLaptop                       // a laptop of events
	revokedLaptop                     // a laptop that is revoked
	changesFile                       // a file of changes, which anyone may have written
)

// Sets of classes.
const (
	keys     = denominationKey | regionalKey | churchKey | eventKey
	laptops  = mirrorLaptop | churchLaptop | eventLaptop
	everyone = root | keys | laptops | revokedLaptop | changesFile
)

// grant is what a laptop was enrolled for besides its level.
type grant uint8

// The grants.
const (
	withFinance grant = 1 << iota // --finance
	withNames                     // --door-data names
	withMirror                    // --mirror
	withLabels                    // --door-data labels: a laptop that has the names derives the labels
)

// rights are the class and the grants of a principal.
type rights struct {
	class  class
	grants grant
}

// rightsOf returns the rights of a principal. One without a level has no class and may nothing.
func rightsOf(p *auth.Principal) rights {
	switch {
	case p.IsOperator():
		return rights{class: root}
	case p.IsRevoked() && p.IsLaptop():
		return rights{revokedLaptop, grantsOf(p.Venue())}
	}
	return rightsOfKey(p)
}

// rightsOfKey returns the rights of a key as if it were not revoked.
func rightsOfKey(p *auth.Principal) (w rights) {
	key, laptop := class(0), churchLaptop
	switch p.Level().Name {
	case auth.Denomination:
		key, laptop = denominationKey, mirrorLaptop
	case auth.RegionalOf:
		key = regionalKey
	case auth.ChurchOf:
		key = churchKey
	case auth.EventOf:
		key, laptop = eventKey, eventLaptop
	default:
		return w
	}
	if w.class = key; p.IsLaptop() {
		w.class = laptop
	}
	w.grants = grantsOf(p.Venue())
	return w
}

func grantsOf(v auth.Venue) (g grant) {
	if v.Finance {
		g |= withFinance
	}
	switch {
	case v.Names:
		g |= withNames
	case v.Node != "":
		g |= withLabels
	}
	if v.Mirror {
		g |= withMirror
	}
	return g
}

// Verb is what a principal does.
type Verb uint8

// The verbs.
const (
	Read   Verb = 1 << iota
	Make        // a record that is not there
	Change      // a record that is there
	Remake      // a record that was deleted
	Delete
	offer // asks what a database lacks, and pushes: each document is judged by itself
)

const writes = Make | Change | Remake | Delete

// Tie says how a principal stands to the church or the event of a scope.
type Tie uint16

// The ties. Only laptops have Guest, Lent, Had and Gone.
const (
	Own        Tie = 1 << iota // its level holds the church or the event; every scope that is of no church and no event
	Churchless                 // it sees the event or the group, which is of no church
	Guest                      // it sees the event, which is of none of its churches, and was enrolled for it
	Lent                       // it was enrolled for the event, which is of another church now
	Had                        // the event was of one of its churches, and is of another now
	Gone                       // the event was deleted; it was enrolled for it, or it was of one of its churches
	New                        // the event does not exist, and the laptop had none of this number
	Foreign                    // none of these
)

const anyTie = Own | Churchless | Guest | Lent | Had | Gone | New | Foreign

// Spot is one database that a record is in, and how the principal stands to it. The zero Spot is none.
type Spot struct {
	scopes.Scope
	Tie Tie
}

// mirrorSpot is the mirror of all records: the spot of what no other database holds.
var mirrorSpot = Spot{Tie: Own}

// Question asks whether a principal may write a record.
type Question struct {
	Verb     Verb
	Kind     *record.Kind // nil: a kind that this version does not know
	Via      scopes.Scope // the database that the write comes through
	From, To [2]Spot      // where the record is, for every verb but Make; where it is after the write
}

// Verdict answers a Question. A larger one is stricter.
type Verdict uint8

// The verdicts. Those from oneRevision on refuse.
const (
	Yes         Verdict = iota
	ownOnly             // yes, if the laptop has made the record itself: the fact names its node, no other node has made a revision
	Review              // as ownOnly, and it is marked for staff
	oneRevision         // refused …
	wasDeleted
	notYours
	hasMoved
	otherDatabase
	laptopsOnly
	NoKey
	otherLevel
	NotInFiles
	NoKind
	isRevoked
)

var reasons = [...]string{
	Yes:           "yes",
	ownOnly:       "yes, if the laptop made it",
	Review:        "yes, if the laptop made it, and marked for review",
	oneRevision:   "a fact has one revision for ever",
	wasDeleted:    "the record was deleted",
	notYours:      "the key may not write where the record would belong",
	hasMoved:      "the record has moved to where the key may not write",
	otherDatabase: "the record belongs to another database",
	laptopsOnly:   "only a laptop brings such records",
	NoKey:         "no key may do this to the kind",
	otherLevel:    "a laptop of this level does not write this kind",
	NotInFiles:    "the server alone writes this kind; no file brings it",
	NoKind:        "no kind of record has this id",
	isRevoked:     "the laptop is revoked",
}

// String is the reason of a refusal, in words for the client.
func (v Verdict) String() string { return reasons[v] }

// Refuses reports whether the principal may not write, whoever made the record.
func (v Verdict) Refuses() bool { return v >= oneRevision }

// May answers a question by the rules of replication. All spots of the record must allow the write, and it must come through the
// database of one of them; a document that does not say which one may come through another of the same sort. A record that has moved away
// is refused for that.
func May(p auth.Principal, q Question) Verdict { return may(rightsOf(&p), q) }

func may(w rights, q Question) Verdict {
	verdict := q.judge(w, q.To)
	if q.Verb != Make {
		from := q.judge(w, q.From)
		if from == notYours {
			from = hasMoved
		}
		verdict = max(verdict, from)
	}
	if w.class&(root|changesFile) == 0 && verdict != hasMoved && !in(q.Via, q.From) && !in(q.Via, q.To) && !q.half() && !q.unplaced() {
		verdict = max(verdict, otherDatabase)
	}
	return verdict
}

// judge returns the strictest verdict of some spots.
func (q *Question) judge(w rights, spots [2]Spot) Verdict {
	if spots[0] == (Spot{}) {
		spots[0] = mirrorSpot
	}
	verdict := pushes.judge(w, q.Verb, q.Kind, spots[0])
	if spots[1] != (Spot{}) {
		verdict = max(verdict, pushes.judge(w, q.Verb, q.Kind, spots[1]))
	}
	return verdict
}

// half reports whether a holding's name comes through the other one of its two databases: its ticket says which it is in, and the
// writer may not know yet that the holding is over.
func (q *Question) half() bool {
	other := q.Via
	switch other.Sort {
	case scopes.EventNames:
		other.Sort = scopes.EventHolders
	case scopes.EventHolders:
		other.Sort = scopes.EventNames
	}
	return q.Kind == record.HolderName && in(other, q.To)
}

// unplaced reports whether a document of a church does not say of which one: a tombstone says nothing, and a membership is where its person
// is. A writer of both churches may have heard of a move before this store, or after it.
func (q *Question) unplaced() bool {
	ofChurch := q.Via.Sort == scopes.Church || q.Via.Sort == scopes.ChurchFinance
	return ofChurch && q.Via.Sort == q.To[0].Sort && (q.Verb == Delete || q.Kind == record.Membership)
}

func in(s scopes.Scope, spots [2]Spot) bool {
	return s.Sort != 0 && (spots[0].Scope == s || spots[1].Scope == s)
}

// Reads reports whether a principal reads the records of a kind in a database.
func Reads(p auth.Principal, k *record.Kind, s Spot) bool { return reads(rightsOf(&p), k, s) }

func reads(w rights, k *record.Kind, s Spot) bool { return !pushes.judge(w, Read, k, s).Refuses() }

// Opens reports whether a principal reads records of any kind in a database.
func Opens(p auth.Principal, s Spot) bool { return pushes.any(rightsOf(&p), Read, s) }

// Offers reports whether a principal may push to a database at all. Each document is judged by itself. A revoked laptop may, where it
// might before, so that it comes to its facts.
func Offers(p auth.Principal, s Spot) bool {
	if p.IsRevoked() {
		return offers(rightsOfKey(&p), s)
	}
	return offers(rightsOf(&p), s)
}

func offers(w rights, s Spot) bool { return pushes.any(w, writes|offer, s) }

// IsGuest reports whether a principal changes only those records in a database that it has made itself.
func IsGuest(p auth.Principal, s Spot) bool {
	w := rightsOf(&p)
	return slices.ContainsFunc(pushes, func(r row) bool {
		return r.verdict == ownOnly && r.verbs&Change != 0 && r.fits(w) && r.at(s)
	})
}

// Brings reports whether a principal makes records of a kind anywhere, by replication.
func Brings(p auth.Principal, k *record.Kind) bool { return pushes.makes(rightsOf(&p), k) }

// OfLaptops reports whether any laptop makes records of a kind.
func OfLaptops(k *record.Kind) bool { return pushes.makes(rights{churchLaptop, withFinance}, k) }

// InFiles reports whether a file of changes may bring records of a kind; nil is a kind that this version does not know.
func InFiles(k *record.Kind) bool {
	return may(rights{class: changesFile}, Question{Verb: Make, Kind: k}) == Yes
}

// MayAtDesk reports whether a principal may do something to a record through /v1 and /admin, or see it there. The tie is that of the
// church or the event that the record belongs to; of a record that belongs to no church it is Churchless.
func MayAtDesk(p auth.Principal, v Verb, k *record.Kind, t Tie) bool {
	return atDesk(rightsOf(&p), v, k, t)
}

func atDesk(w rights, v Verb, k *record.Kind, t Tie) bool {
	return !desk.judge(w, v, k, Spot{Tie: t}).Refuses()
}

// DeskWrites reports whether /v1 and /admin write a kind at all.
func DeskWrites(k *record.Kind) bool { return desk.makes(rights{class: root}, k) }

// CheckCreate returns nil if a principal makes records of a kind through /v1 and /admin, in some church or event, and a *Forbidden if not.
func CheckCreate(p auth.Principal, k *record.Kind) error {
	switch {
	case desk.makes(rightsOf(&p), k):
		return nil
	case desk.makes(rights{class: churchKey}, k):
		return p.LacksLevel(auth.ChurchOf)
	}
	return p.LacksLevel(auth.Denomination)
}

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
	return slices.ContainsFunc(t, func(r row) bool { return !r.verdict.Refuses() && r.fits(w) && r.verbs&v != 0 && r.at(s) })
}

// makes reports whether a row allows records of a kind to be made, at any spot.
func (t table) makes(w rights, k *record.Kind) bool {
	kind := of(k)
	return slices.ContainsFunc(t, func(r row) bool { return !r.verdict.Refuses() && r.fits(w) && r.verbs&Make != 0 && r.kinds&kind != 0 })
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
