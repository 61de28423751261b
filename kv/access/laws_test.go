package access

import (
	"testing"

	"doorward/kv/record"
	"doorward/kv/scopes"
)

// eachWrite calls fn with each principal but the operator and files, and each way to write each kind in one database.
func eachWrite(fn func(p party, v Verb, k *record.Kind, s Spot)) {
	for _, p := range parties {
		if p.who.class&(root|changesFile) != 0 {
			continue
		}
		for _, k := range allKinds() {
			for _, s := range spotsOf(p.who, k) {
				for _, v := range []Verb{Make, Change, Remake, Delete} {
					fn(p, v, k, s)
				}
			}
		}
	}
}

// TestEveryQuestionHasARow: none is answered by the end of the table.
func TestEveryQuestionHasARow(t *testing.T) {
	for _, p := range parties {
		for _, k := range record.Kinds() {
			if k.Number > 63 {
				t.Fatalf("%s has number %d, and a set of kinds holds 64", k.Name, k.Number)
			}
			for _, s := range spotsOf(p.who, k) {
				for v := Read; v <= Delete; v <<= 1 {
					if got := ask(p.who, v, k, s, s); got == NoKind {
						t.Errorf("%s: %s of %s at %s has no row", p.name, verbNames[v], k.Name, s)
					}
				}
			}
		}
	}
}

// TestNothingIsWrittenThatIsNotRead: a principal writes only where it reads. The exceptions are those of sync.md: a laptop sells
// tickets whose names and holders it does not read, brings what it made of an event that has left it, makes an event again that was
// deleted, and brings its facts once it is revoked.
func TestNothingIsWrittenThatIsNotRead(t *testing.T) {
	eachWrite(func(p party, v Verb, k *record.Kind, s Spot) {
		if ask(p.who, v, k, s, s).Refuses() || reads(p.who, k, s) {
			return
		}
		kind := of(k)
		laptop := p.who.class&laptops != 0
		switch {
		case laptop && kind&(parts|unknown) != 0 && s.Tie&(Own|Guest) != 0 && s.Sort.OfEvent():
		case laptop && kind&(tickets|facts|unknown) != 0 && s.Tie == Lent:
		case laptop && kind&facts != 0 && s.Tie&(Had|Gone) != 0:
		case p.who.class == churchLaptop && kind&(of(record.Event)|unknown) != 0 && s.Tie&(Gone|New) != 0:
		case p.who.class == revokedLaptop && kind&facts != 0 && v == Make:
		default:
			t.Errorf("%s may %s %s at %s and does not read it", p.name, verbNames[v], nameOf(k), s)
		}
	})
}

// TestNobodyWritesWhatTheCentreWrites: reference and system kinds.
func TestNobodyWritesWhatTheCentreWrites(t *testing.T) {
	eachWrite(func(p party, v Verb, k *record.Kind, s Spot) {
		if of(k)&(servers|everyones|finances) != 0 && !ask(p.who, v, k, s, s).Refuses() {
			t.Errorf("%s may %s %s at %s", p.name, verbNames[v], k.Name, s)
		}
	})
}

// TestNobodyWritesElsewhere: what is foreign is written by nobody, and read by nobody but a mirror.
func TestNobodyWritesElsewhere(t *testing.T) {
	eachWrite(func(p party, v Verb, k *record.Kind, s Spot) {
		if s.Tie != Foreign {
			return
		}
		if got := ask(p.who, v, k, s, s); !got.Refuses() || reads(p.who, k, s) {
			t.Errorf("%s: %s of %s at %s = %s, read %t", p.name, verbNames[v], nameOf(k), s, got, reads(p.who, k, s))
		}
	})
}

// TestAMoveNeedsBothEnds: a record moves where it may be written before and after, and neither end makes a verdict milder.
func TestAMoveNeedsBothEnds(t *testing.T) {
	eachWrite(func(p party, v Verb, k *record.Kind, from Spot) {
		for _, to := range spotsOf(p.who, k) {
			got, here, there := ask(p.who, v, k, from, to), ask(p.who, v, k, from, from), ask(p.who, v, k, to, to)
			if v == Make {
				here = Yes
			}
			if got.Refuses() != (here.Refuses() || there.Refuses()) || got < min(here, there) {
				t.Errorf("%s: %s of %s from %s to %s = %s; within the one %s, within the other %s", p.name, verbNames[v], nameOf(k), from, to, got, here, there)
			}
		}
	})
}

// TestALargerScopeMayAtLeastAsMuch: of two principals with the same tie the one of the larger level, or with more grants, may at least
// what the other may. A mirror reads more and writes less.
func TestALargerScopeMayAtLeastAsMuch(t *testing.T) {
	ladders := [][]rights{
		{{class: eventKey}, {class: churchKey}, {class: regionalKey}, {class: denominationKey}, {class: root}},
		{{class: eventLaptop}, {class: churchLaptop}, {class: churchLaptop, grants: withNames}, {class: churchLaptop, grants: withNames | withFinance}, {class: churchLaptop, grants: withNames | withFinance | withMirror}},
		{{class: eventLaptop}, {class: eventLaptop, grants: withNames}, {class: churchLaptop, grants: withNames}},
		{{class: revokedLaptop}, {class: eventLaptop}},
	}
	for _, ladder := range ladders {
		for i := range len(ladder) - 1 {
			small, large := ladder[i], ladder[i+1]
			for _, k := range allKinds() {
				for _, s := range spotsOf(small, k) {
					atLeast(t, small, large, k, s)
				}
			}
		}
	}
}

func atLeast(t *testing.T, small, large rights, k *record.Kind, s Spot) {
	t.Helper()
	if reads(small, k, s) && !reads(large, k, s) {
		t.Errorf("%+v reads %s at %s, and %+v does not", small, nameOf(k), s, large)
	}
	for _, v := range []Verb{Make, Change, Remake, Delete} {
		if a, b := ask(small, v, k, s, s), ask(large, v, k, s, s); !a.Refuses() && b > a {
			t.Errorf("%s of %s at %s: %+v %s, %+v %s", verbNames[v], nameOf(k), s, small, a, large, b)
		}
		if k != nil && atDesk(small, v, k, s.Tie) && !atDesk(large, v, k, s.Tie) {
			t.Errorf("desk: %+v may %s %s (%s), and %+v may not", small, verbNames[v], nameOf(k), s.Tie, large)
		}
	}
}

// TestAKeyPushesNothingThatTheDeskWouldNotTake, and of an event nothing at all.
func TestAKeyPushesNothingThatTheDeskWouldNotTake(t *testing.T) {
	eachWrite(func(p party, v Verb, k *record.Kind, s Spot) {
		if p.who.class&keys == 0 || ask(p.who, v, k, s, s).Refuses() {
			return
		}
		if k == nil || s.Sort.OfEvent() || !atDesk(p.who, v, k, s.Tie) || !reads(p.who, k, s) {
			t.Errorf("%s may %s %s at %s by replication", p.name, verbNames[v], nameOf(k), s)
		}
	})
}

// TestARevokedLaptopBringsItsFactsAlone, and each is marked.
func TestARevokedLaptopBringsItsFactsAlone(t *testing.T) {
	w := rights{class: revokedLaptop, grants: withFinance | withNames | withMirror}
	for _, k := range allKinds() {
		for _, s := range spotsOf(w, k) {
			if reads(w, k, s) {
				t.Errorf("it reads %s at %s", nameOf(k), s)
			}
			for _, v := range []Verb{Make, Change, Remake, Delete} {
				if got := ask(w, v, k, s, s); !got.Refuses() && (got != Review || of(k)&facts == 0 || v != Make) {
					t.Errorf("%s of %s at %s = %s", verbNames[v], nameOf(k), s, got)
				}
			}
		}
	}
}

// TestAWriteComesThroughADatabaseOfItsRecord: through no other, and by nobody through the mirror of all records.
func TestAWriteComesThroughADatabaseOfItsRecord(t *testing.T) {
	w := rights{class: churchLaptop, grants: withMirror}
	church := Spot{scopes.Scope{Sort: scopes.Church, ID: 3}, Own}
	for via, want := range map[scopes.Scope]Verdict{
		church.Scope:                    Yes,
		{Sort: scopes.Church, ID: 4}:    otherDatabase,
		{Sort: scopes.Event, ID: 3}:     otherDatabase,
		{Sort: scopes.Reference}:        otherDatabase,
		{}:                              otherDatabase,
		{Sort: scopes.Church, ID: 3000}: otherDatabase,
	} {
		q := Question{Verb: Make, Kind: record.Person, Via: via, To: [2]Spot{church}}
		if got := may(w, q); got != want {
			t.Errorf("a person through %s = %s, want %s", via, got, want)
		}
	}
	left := Question{Verb: Change, Kind: record.Person, Via: church.Scope, From: [2]Spot{church}, To: [2]Spot{{scopes.Scope{Sort: scopes.Church, ID: 4}, Own}}}
	if got := may(w, left); got != Yes {
		t.Errorf("a person that moves to another church of the laptop, through the one that it leaves = %s", got)
	}
	away := [2]Spot{{scopes.Scope{Sort: scopes.Church, ID: 4}, Foreign}}
	for _, v := range []Verb{Change, Delete} {
		if got := may(w, Question{Verb: v, Kind: record.Person, Via: church.Scope, From: away, To: away}); got != hasMoved {
			t.Errorf("%s of a person that has moved away = %s", verbNames[v], got)
		}
	}
	if got := may(w, Question{Verb: Make, Kind: record.Person}); !got.Refuses() {
		t.Errorf("a person of no church = %s", got)
	}
}

// TestWhatSaysNoChurchComesThroughAnyOfTheWriters: a tombstone and a membership. The writer has both churches, and one of the two stores has
// not heard of a move yet.
func TestWhatSaysNoChurchComesThroughAnyOfTheWriters(t *testing.T) {
	w := rights{class: churchLaptop, grants: withFinance}
	at := func(s scopes.Sort, church int64, tie Tie) [2]Spot {
		return [2]Spot{{scopes.Scope{Sort: s, ID: church}, tie}}
	}
	for _, one := range []struct {
		verb Verb
		kind *record.Kind
		via  scopes.Sort
		is   [2]Spot
		want Verdict
	}{
		{Make, record.Membership, scopes.Church, at(scopes.Church, 3, Own), Yes},
		{Change, record.Membership, scopes.Church, at(scopes.Church, 3, Own), Yes},
		{Delete, record.Person, scopes.Church, at(scopes.Church, 3, Own), Yes},
		{Delete, record.FinancialEntry, scopes.ChurchFinance, at(scopes.ChurchFinance, 3, Own), Yes},
		{Delete, record.FinancialEntry, scopes.Church, at(scopes.ChurchFinance, 3, Own), otherDatabase},
		{Change, record.Person, scopes.Church, at(scopes.Church, 3, Own), otherDatabase},
		{Make, record.Membership, scopes.Event, at(scopes.Church, 3, Own), otherDatabase},
		{Delete, record.Person, scopes.Church, at(scopes.Church, 3, Foreign), hasMoved},
	} {
		q := Question{Verb: one.verb, Kind: one.kind, Via: scopes.Scope{Sort: one.via, ID: 4}, From: one.is, To: one.is}
		if got := may(w, q); got != one.want {
			t.Errorf("%s of %s at %s through %s = %s, want %s", verbNames[one.verb], one.kind.Name, one.is[0], q.Via, got, one.want)
		}
	}
}

// TestAHoldersNameComesThroughEitherOfItsDatabases, of the event that it goes to: its ticket says which of the two it is in. No other
// kind does.
func TestAHoldersNameComesThroughEitherOfItsDatabases(t *testing.T) {
	w := rights{class: churchLaptop, grants: withNames}
	at := func(s scopes.Sort, event int64) scopes.Scope { return scopes.Scope{Sort: s, ID: event} }
	for _, one := range []struct {
		kind *record.Kind
		via  scopes.Scope
		to   scopes.Scope
		want Verdict
	}{
		{record.HolderName, at(scopes.EventNames, 3), at(scopes.EventNames, 3), Yes},
		{record.HolderName, at(scopes.EventNames, 3), at(scopes.EventHolders, 3), Yes},
		{record.HolderName, at(scopes.EventHolders, 3), at(scopes.EventNames, 3), Yes},
		{record.HolderName, at(scopes.EventHolders, 4), at(scopes.EventNames, 3), otherDatabase},
		{record.HolderName, at(scopes.EventLabels, 3), at(scopes.EventNames, 3), otherDatabase},
		{record.HolderName, at(scopes.Event, 3), at(scopes.EventHolders, 3), otherDatabase},
		{record.Holder, at(scopes.EventNames, 3), at(scopes.EventHolders, 3), otherDatabase},
	} {
		q := Question{Verb: Make, Kind: one.kind, Via: one.via, To: [2]Spot{{one.to, Own}}}
		if got := may(w, q); got != one.want {
			t.Errorf("%s of %s through %s = %s, want %s", one.kind.Name, one.to, one.via, got, one.want)
		}
	}
}
