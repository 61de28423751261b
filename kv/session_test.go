package kv_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
)

// contact is a node telling a peer of its session, and wants the peer to find it a clone or not.
func contact(t testing.TB, peer, node *kv.Store, want bool) {
	t.Helper()
	unanswered(t, peer, node, want)
	id, _, err := node.Keys.Session()
	if err == nil {
		err = node.Keys.SessionMet(id)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// unanswered is a contact whose answer is lost.
func unanswered(t testing.TB, peer, node *kv.Store, want bool) {
	t.Helper()
	id, before, err := node.Keys.Session()
	if err != nil {
		t.Fatal(err)
	}
	if clone, err := peer.Keys.SeenSession(node.Tables.Identity.Node(), id, before); err != nil || clone != want {
		t.Errorf("SeenSession(%s after %s) = %v, %v, want %v", id, before, clone, err, want)
	}
}

// startsOffline has a laptop tell nobody of some sessions: it dials, and nothing answers.
func startsOffline(t testing.TB, l *venueLaptop, times int) {
	t.Helper()
	for range times {
		l.restart()
		if _, _, err := l.Store.Keys.Session(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSessionsNameTheirPredecessors(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	before := ""
	for i := range 3 {
		s := reopenable(t, c)
		if i == 0 {
			before = s.Tables.Epochs.Present()
		}
		id, all, err := s.Keys.Session()
		if again, _, _ := s.Keys.Session(); err != nil || id == all[0] || all[0] != before || len(all) != i+1 || again != id {
			t.Errorf("Session() = %s after %s, %v, want another one after %s, and the same again", id, all, err, before)
		}
		before = id
		closed(t, s)
		closed(t, reopenable(t, c)) // a start that meets nobody
	}
}

// TestClonesAreNoticedByTheirSessions: copies of a machine with all that it has cannot tell by themselves.
func TestClonesAreNoticedByTheirSessions(t *testing.T) {
	peer := kvtest.Open(t)
	for _, c := range []struct {
		name string
		meet func(t *testing.T, one, two *venueLaptop)
	}{
		{"both have been started since", func(t *testing.T, one, two *venueLaptop) {
			contact(t, peer, one.Store, false)
			contact(t, peer, two.Store, true)
			contact(t, peer, one.Store, true) // the first is told at its next contact
		}},
		{"one was started once more", func(t *testing.T, one, two *venueLaptop) {
			contact(t, peer, one.Store, false)
			one.restart()
			contact(t, peer, one.Store, false)
			contact(t, peer, two.Store, true)
			contact(t, peer, one.Store, true)
			one.restart()
			contact(t, peer, one.Store, true)
		}},
		{"each was started without meeting anybody", func(t *testing.T, one, two *venueLaptop) {
			startsOffline(t, one, 1)
			startsOffline(t, two, 3)
			contact(t, peer, one.Store, false)
			contact(t, peer, two.Store, true)
			contact(t, peer, one.Store, true)
		}},
		{"each was started more often than is told", func(t *testing.T, one, two *venueLaptop) {
			startsOffline(t, one, 40)
			startsOffline(t, two, 35)
			contact(t, peer, one.Store, false)
			contact(t, peer, two.Store, true)
			contact(t, peer, one.Store, true)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := newLaptop(t)
			contact(t, peer, one.Store, false)
			two := one.clone()
			one.restart()
			c.meet(t, one, two)
			first := one.Store.Tables.Epochs.Present()
			for _, l := range []*venueLaptop{one, two} {
				if err := l.Store.Tables.Epochs.Begin("another copy of this store has been met"); err != nil {
					t.Fatal(err)
				}
				contact(t, peer, l.Store, false)
				l.restart()
				contact(t, peer, l.Store, false)
			}
			if one.Store.Tables.Epochs.Present() == two.Store.Tables.Epochs.Present() || one.Store.Tables.Epochs.Present() == first || two.Store.Tables.Epochs.Present() == first {
				t.Errorf("epochs %s and %s after %s, want two new ones", one.Store.Tables.Epochs.Present(), two.Store.Tables.Epochs.Present(), first)
			}
		})
	}
}

// TestRunningStoreThatWasCopiedIsNoticed: it goes on in a session that has a successor.
func TestRunningStoreThatWasCopiedIsNoticed(t *testing.T) {
	peer := kvtest.Open(t)
	one := newLaptop(t)
	contact(t, peer, one.Store, false)
	two := one.clone()
	contact(t, peer, two.Store, false)
	contact(t, peer, one.Store, true)
	contact(t, peer, two.Store, true)
}

// TestALostAnswerMakesNoClone: the peer has met a session that does not know of it.
func TestALostAnswerMakesNoClone(t *testing.T) {
	peer := kvtest.Open(t)
	l := newLaptop(t)
	contact(t, peer, l.Store, false)
	for i := range 6 {
		startsOffline(t, l, 1+i%2)
		unanswered(t, peer, l.Store, false)
		unanswered(t, peer, l.Store, false)
	}
	contact(t, peer, l.Store, false)
	l.restart()
	contact(t, peer, l.Store, false)
	if _, before, err := l.Store.Keys.Session(); err != nil || len(before) != 1 {
		t.Errorf("Session() names %d before, %v, want the last that was answered to alone", len(before), err)
	}
}

// TestClonesBeforeTheFirstContact have their epoch in common, if nothing else.
func TestClonesBeforeTheFirstContact(t *testing.T) {
	peer := kvtest.Open(t)
	one := newLaptop(t)
	two := one.clone()
	contact(t, peer, one.Store, false)
	contact(t, peer, two.Store, true)
	contact(t, peer, one.Store, true)
}

// TestNoticedCopiesAreNoClones: they have begun a new epoch by themselves, and so has a restored store.
func TestNoticedCopiesAreNoClones(t *testing.T) {
	peer := kvtest.Open(t)
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	contact(t, peer, s, false)
	dir := copied(t, c.Dir)
	contact(t, peer, s, false)
	for range 2 {
		one, two := reopenable(t, kv.Config{Dir: copied(t, dir)}), reopenable(t, kv.Config{Dir: copied(t, dir), Restored: true})
		for range 2 {
			contact(t, peer, one, false)
			contact(t, peer, two, false)
			contact(t, peer, s, false)
		}
		closed(t, one)
		closed(t, two)
	}
	closed(t, s)
}

// clone is a laptop with a copy of everything, the marks included.
func (l *venueLaptop) clone() *venueLaptop {
	l.Helper()
	c := newLaptop(l.T)
	closed(l.T, c.Store)
	c.config.Dir = copied(l.T, l.config.Dir)
	c.config.Aside = true // a disk's image has the inodes too; that cannot be had in a test
	c.Store = reopenable(l.T, c.config)
	return c
}

func TestSessionsOfNobody(t *testing.T) {
	s := kvtest.Open(t)
	a, b := ulid.Make().String(), ulid.Make().String()
	for _, c := range [][3]string{{"", a, b}, {a, "", b}, {a, b, ""}, {a, b, b}, {a, b, "x"}, {a, strings.ToLower(b) + "I", a}} {
		if _, err := s.Keys.SeenSession(c[0], c[1], []string{c[2]}); !errors.Is(err, keys.ErrSession) {
			t.Errorf("SeenSession(%q) = %v, want ErrSession", c, err)
		}
	}
	for _, before := range [][]string{nil, {b, b}, {b, a, b}, make([]string, 33)} {
		if _, err := s.Keys.SeenSession(a, ulid.Make().String(), before); !errors.Is(err, keys.ErrSession) {
			t.Errorf("SeenSession(after %q) = %v, want ErrSession", before, err)
		}
	}
	for range 300 { // a peer that makes up sessions costs no more than a hundred
		if clone, err := s.Keys.SeenSession(a, ulid.Make().String(), []string{ulid.Make().String(), ulid.Make().String()}); err != nil || clone {
			t.Errorf("SeenSession = %v, %v", clone, err)
		}
	}
}
