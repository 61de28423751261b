package auth

import (
	"slices"

	"doorward/kv/record"
	"doorward/kv/scopes"
)

// Class says what a principal is to the rules.
type Class uint16

// The classes. A laptop is a key of class node.
const (
	Root          Class = 1 << iota // the operator, and the replicator of this store
	Denomination                    // a key that sees everything
	Regional                        // a key of the churches of regionals
	Church                          // a key of churches
	Event                           // a key of events
	MirrorLaptop                    // a laptop that sees everything: it was enrolled with --mirror and for no church
	ChurchLaptop                    // a laptop of churches
	EventLaptop                     // a laptop of events
	RevokedLaptop                   // a laptop that is revoked
	File                            // a file of changes, which anyone may have written
)

// Sets of classes.
const (
	keys     = Denomination | Regional | Church | Event
	laptops  = MirrorLaptop | ChurchLaptop | EventLaptop
	everyone = Root | keys | laptops | RevokedLaptop | File
)

// Grant is what a laptop was enrolled for besides its level.
type Grant uint8

// The grants.
const (
	Finance Grant = 1 << iota // --finance
	Names                     // --door-data names
	Mirror                    // --mirror
)

// Who is a principal as the rules see it.
type Who struct {
	Class  Class
	Grants Grant
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
	Own     Tie = 1 << iota // its level holds the church or the event; every scope that is of no church and no event
	Nobodys                 // it sees the event or the group, which is of no church
	Guest                   // it sees the event, which is of none of its churches, and was enrolled for it
	Lent                    // it was enrolled for the event, which is of another church now
	Had                     // the event was of one of its churches, and is of another now
	Gone                    // the event was deleted; it was enrolled for it, or it was of one of its churches
	New                     // there is no such event, and it had none
	Foreign                 // none of these
)

const anyTie = Own | Nobodys | Guest | Lent | Had | Gone | New | Foreign

// Spot is one database that a record is in, and how the principal stands to it. The zero Spot is none.
type Spot struct {
	scopes.Scope
	Tie Tie
}

// Nowhere is the mirror of all records: the spot of what no other database holds.
var Nowhere = Spot{Tie: Own}

// Question asks whether a principal may write a record.
type Question struct {
	Verb     Verb
	Kind     *record.Kind // nil: a kind that this version does not know
	Via      scopes.Scope // the database that the write comes through
	From, To [2]Spot      // where the record is, for every verb but Make; where it is after the write
}

// Verdict answers a Question. A larger one is stricter.
type Verdict uint8

// The verdicts. Those from OneRevision on refuse.
const (
	Yes         Verdict = iota
	OwnOnly             // yes, if the laptop has made the record itself: the fact names its node, no other node has made a revision
	Review              // as OwnOnly, and it is marked for staff
	OneRevision         // refused …
	WasDeleted
	NotYours
	Moved
	OtherDatabase
	LaptopsOnly
	NoKey
	OtherLevel
	NotInFiles
	NoKind
	Revoked
)

var reasons = [...]string{
	Yes:           "yes",
	OwnOnly:       "yes, if the laptop made it",
	Review:        "yes, if the laptop made it, and marked for review",
	OneRevision:   "a fact has one revision for ever",
	WasDeleted:    "the record was deleted",
	NotYours:      "the key may not write where the record would belong",
	Moved:         "the record has moved to where the key may not write",
	OtherDatabase: "the record belongs to another database",
	LaptopsOnly:   "only a laptop brings such records",
	NoKey:         "no key may do this to the kind",
	OtherLevel:    "a laptop of this level does not write this kind",
	NotInFiles:    "the server alone writes this kind; no file brings it",
	NoKind:        "no kind of record has this id",
	Revoked:       "the laptop is revoked",
}

// String is the reason of a refusal, in words for the client.
func (v Verdict) String() string { return reasons[v] }

// Refuses reports whether the principal may not write, whoever made the record.
func (v Verdict) Refuses() bool { return v >= OneRevision }

// May answers a question by the rules of replication. All spots of the record must allow the write, and it must come through the
// database of one of them.
func May(w Who, q Question) Verdict {
	verdict := q.judge(w, q.To)
	if q.Verb != Make {
		from := q.judge(w, q.From)
		if from == NotYours {
			from = Moved
		}
		verdict = max(verdict, from)
	}
	if w.Class&(Root|File) == 0 && !in(q.Via, q.From) && !in(q.Via, q.To) {
		verdict = max(verdict, OtherDatabase)
	}
	return verdict
}

// judge returns the strictest verdict of some spots.
func (q *Question) judge(w Who, spots [2]Spot) Verdict {
	if spots[0] == (Spot{}) {
		spots[0] = Nowhere
	}
	verdict := pushes.judge(w, q.Verb, q.Kind, spots[0])
	if spots[1] != (Spot{}) {
		verdict = max(verdict, pushes.judge(w, q.Verb, q.Kind, spots[1]))
	}
	return verdict
}

func in(s scopes.Scope, spots [2]Spot) bool {
	return s.Sort != 0 && (spots[0].Scope == s || spots[1].Scope == s)
}

// Reads reports whether a principal reads the records of a kind in a database.
func Reads(w Who, k *record.Kind, s Spot) bool {
	return !pushes.judge(w, Read, k, s).Refuses()
}

// Opens reports whether a principal reads records of any kind in a database.
func Opens(w Who, s Spot) bool { return pushes.any(w, Read, s) }

// Offers reports whether a principal may push to a database at all. Each document is judged by itself.
func Offers(w Who, s Spot) bool { return pushes.any(w, writes|offer, s) }

// IsGuest reports whether of the records in a database that change the principal writes those alone that it has made itself.
func IsGuest(w Who, s Spot) bool {
	return slices.ContainsFunc(pushes, func(r row) bool {
		return r.verdict == OwnOnly && r.verbs&Change != 0 && r.fits(w) && r.at(s)
	})
}

// Brings reports whether a principal makes records of a kind anywhere, by replication.
func Brings(w Who, k *record.Kind) bool { return pushes.makes(w, k) }

// OfLaptops reports whether any laptop makes records of a kind.
func OfLaptops(k *record.Kind) bool { return Brings(Who{ChurchLaptop, Finance}, k) }

// InFiles reports whether a file of changes may bring records of a kind; nil is a kind that this version does not know.
func InFiles(k *record.Kind) bool { return May(Who{Class: File}, Question{Verb: Make, Kind: k}) == Yes }

// Desk reports whether a principal may do something to a record through /v1 and /admin, or see it there. The tie is that of the
// church or the event that the record belongs to; of a record that belongs to no church it is Nobodys.
func Desk(w Who, v Verb, k *record.Kind, t Tie) bool {
	return !desk.judge(w, v, k, Spot{Tie: t}).Refuses()
}

// Creates reports whether a principal makes records of a kind through /v1 and /admin, in some church or event.
func Creates(w Who, k *record.Kind) bool { return desk.makes(w, k) }
