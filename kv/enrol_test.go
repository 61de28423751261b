package kv_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/laptop"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// invited is a centre with one event, and a code for a laptop of it.
func invited(t *testing.T, clock *kvtest.Clock) (s *kv.Store, event, id int64, code string) {
	t.Helper()
	s = kvtest.OpenConfig(t, kv.Config{Clock: clock.Now})
	event = kvtest.Create(t, s, record.Event, `{"name":"Sunday","start_datetime":"2026-05-03T19:00:00Z"}`)
	e := office.Enrolment{Name: "north", Level: auth.Level{Name: auth.EventOf, IDs: []int64{event}}, Venue: auth.Venue{Names: true}}
	id, code, _, err := s.Venues.Enrol(auth.Operator(), e)
	if err != nil {
		t.Fatal(err)
	}
	return s, event, id, code
}

const (
	laptopNode  = "01J00000000000000000000000"
	anotherNode = "01J00000000000000000000001"
)

func TestCodeWorksOnce(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	s, event, id, code := invited(t, clock)
	mine, other := keys.HashSecret("mine"), keys.HashSecret("other")
	if _, err := s.Venues.Exchange("0000000000000000", office.Joiner{Node: laptopNode, Secret: mine}); !errors.Is(err, office.ErrCode) {
		t.Errorf("Exchange(wrong code) = %v, want ErrCode", err)
	}
	c, err := s.Venues.Exchange(code, office.Joiner{Node: laptopNode, Secret: mine})
	if err != nil || c.ID != id || c.Realm != s.Tables.Identity.Realm() || c.Centre != s.Tables.Identity.Node() || len(c.CodeKey) == 0 {
		t.Fatalf("Exchange(code) = %+v, %v", c, err)
	}
	if again, err := s.Venues.Exchange(code, office.Joiner{Node: laptopNode, Secret: mine}); err != nil || again.Key != c.Key {
		t.Errorf("Exchange once more by the same laptop = %+v, %v, want the same key", again, err)
	}
	for name, try := range map[string]struct {
		node   string
		secret [32]byte
	}{"another laptop": {anotherNode, mine}, "another secret": {laptopNode, other}} {
		if _, err := s.Venues.Exchange(code, office.Joiner{Node: try.node, Secret: try.secret}); !errors.Is(err, office.ErrCode) {
			t.Errorf("Exchange by %s = %v, want ErrCode", name, err)
		}
	}
	p, err := s.Keys.Login(c.Key, "mine")
	if err != nil || p.Node() != laptopNode {
		t.Fatalf("Login(the laptop's key) = %v, %v", p, err)
	}
	all, err := s.Venues.Exchanged(p, 0)
	if want := (office.Exchanged{Name: scopes.Scope{Sort: scopes.EventHolders, ID: event}.String(), Push: true, Guest: true}); err != nil || len(all) != 4 || all[3] != want {
		t.Errorf("Exchanged() = %v, %v, want the event's holders to push alone", all, err)
	}
}

// letIn enrols a laptop and logs it in.
func letIn(t testing.TB, s *kv.Store, e office.Enrolment) (auth.Principal, office.Credential) {
	t.Helper()
	_, code, _, err := s.Venues.Enrol(auth.Operator(), e)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Venues.Exchange(code, office.Joiner{Node: laptopNode, Secret: keys.HashSecret("mine")})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Keys.Login(c.Key, "mine")
	if err != nil {
		t.Fatal(err)
	}
	return p, c
}

// letInAgain enrols the laptop of letIn once more, and logs it in.
func letInAgain(t testing.TB, s *kv.Store, e office.Enrolment) auth.Principal {
	t.Helper()
	_, code, _, err := s.Venues.Enrol(auth.Operator(), e)
	if err != nil {
		t.Fatal(err)
	}
	j := office.Joiner{Node: laptopNode, Secret: keys.HashSecret("mine")}
	j.Proof = j.Prove(code, "mine")
	c, err := s.Venues.Exchange(code, j)
	if err != nil {
		t.Fatal(err)
	}
	return loggedIn(t, s, c.Key)
}

// TestNobodyJoinsUnderAnothersName: what comes from a laptop is known by its name alone, so a code is no way to take one over.
func TestNobodyJoinsUnderAnothersName(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	s, event, id, first := invited(t, clock)
	enrol := func() string {
		t.Helper()
		_, code, _, err := s.Venues.Enrol(auth.Operator(), office.Enrolment{Name: "south", Level: auth.Level{Name: auth.EventOf, IDs: []int64{event}}})
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	joins := func(name, code, node, secret, proof string, want error) office.Credential {
		t.Helper()
		j := office.Joiner{Node: node, Secret: keys.HashSecret(secret)}
		if proof != "" {
			j.Proof = j.Prove(code, proof)
		}
		c, err := s.Venues.Exchange(code, j)
		if !errors.Is(err, want) {
			t.Errorf("%s: Exchange = %v, want %v", name, err, want)
		}
		return c
	}
	joins("the centre's own name", first, s.Tables.Identity.Node(), "mine", "", office.ErrEnrolled)
	mine := joins("a new laptop", first, laptopNode, "mine", "", nil)
	second := enrol()
	joins("a stranger", second, laptopNode, "stolen", "", office.ErrEnrolled)
	joins("a stranger who guesses", second, laptopNode, "stolen", "guess", office.ErrEnrolled)
	heard := office.Joiner{Node: laptopNode, Secret: keys.HashSecret("new")}
	if _, err := s.Venues.Exchange(second, office.Joiner{Node: laptopNode, Secret: keys.HashSecret("stolen"), Proof: heard.Prove(second, "mine")}); !errors.Is(err, office.ErrEnrolled) {
		t.Errorf("a proof of another secret: Exchange = %v, want ErrEnrolled", err)
	}
	if _, err := s.Keys.Login(mine.Key, "mine"); err != nil {
		t.Errorf("the laptop's key after all that: %v", err)
	}
	anew := joins("the laptop itself", second, laptopNode, "new", "mine", nil)
	if _, err := s.Keys.Login(mine.Key, "mine"); !errors.Is(err, table.ErrRevoked) {
		t.Errorf("the laptop's first key = %v, want ErrRevoked", err)
	}
	if err := s.Venues.RevokeVenue(auth.Operator(), anew.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Venues.RevokeVenue(auth.Operator(), anew.ID); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("RevokeVenue once more = %v, want ErrNotFound", err)
	}
	if third := joins("a laptop that was revoked, and has lost its key", enrol(), laptopNode, "third", "", nil); third.ID == id || third.ID == anew.ID {
		t.Errorf("the third enrolment is %d", third.ID)
	}
}

// TestALaptopEnrolsNoLaptop: what a second one did would end at the first, as the centre takes from each what it has made itself.
func TestALaptopEnrolsNoLaptop(t *testing.T) {
	for _, url := range []string{"https://centre.example", ""} { // "": its records came by a file
		s, event, _, code := invited(t, kvtest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)))
		if err := s.Laptop.Join(auth.Operator(), table.Upstream{URL: url, Node: anotherNode}, office.Credential{Realm: s.Tables.Identity.Realm()}); err != nil {
			t.Fatal(err)
		}
		e := office.Enrolment{Name: "south", Level: auth.Level{Name: auth.EventOf, IDs: []int64{event}}}
		var no *table.Conflict
		if _, _, _, err := s.Venues.Enrol(auth.Operator(), e); !errors.As(err, &no) || !strings.Contains(no.Reason, "at the centre") || !strings.Contains(no.Reason, url) {
			t.Errorf("Enrol at a laptop of %q = %v, want *Conflict that names the centre", url, err)
		}
		if _, err := s.Venues.Exchange(code, office.Joiner{Node: laptopNode, Secret: keys.HashSecret("mine")}); !errors.Is(err, office.ErrCode) {
			t.Errorf("Exchange of a code from before it joined = %v, want ErrCode", err)
		}
	}
}

func TestCodeOfYesterdayIsOver(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	s, _, id, code := invited(t, clock)
	clock.Move(24 * time.Hour)
	if _, err := s.Venues.Exchange(code, office.Joiner{Node: laptopNode, Secret: keys.HashSecret("mine")}); !errors.Is(err, office.ErrCode) {
		t.Errorf("Exchange(a day later) = %v, want ErrCode", err)
	}
	clock.Move(-time.Hour)
	if err := s.Venues.RevokeVenue(auth.Operator(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Venues.Exchange(code, office.Joiner{Node: laptopNode, Secret: keys.HashSecret("mine")}); !errors.Is(err, office.ErrCode) {
		t.Errorf("Exchange(of who was revoked before it came) = %v, want ErrCode", err)
	}
}

// TestRevokedLaptopBringsFactsAlone: they are kept and marked; nothing else is taken, and nothing is read.
func TestRevokedLaptopBringsFactsAlone(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	s, _, id, code := invited(t, clock)
	c, err := s.Venues.Exchange(code, office.Joiner{Node: laptopNode, Secret: keys.HashSecret("mine")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Venues.RevokeVenue(auth.Operator(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keys.Login(c.Key, "mine"); !errors.Is(err, table.ErrRevoked) {
		t.Errorf("Login(revoked) = %v, want ErrRevoked", err)
	}
	p, err := s.Keys.RevokedNode(c.Key)
	if err != nil {
		t.Fatal(err)
	}
	db, err := s.Docs.Database(p, "event-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.Changes(docs.Feed{Limit: 1}); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("Changes() of a revoked laptop = %v, want ErrForbidden", err)
	}
	fact := []byte(`{"event_id":1,"code_hash":"00112233445566778899aabbccddeeff","node":"` + laptopNode + `","hlc":"0000000000000001","at":"2026-05-01T12:00:00Z",` +
		`"outcome":"unknown_code"}`)
	first := rev.Next(rev.ID{}, false, fact)
	results, err := db.Write([]merge.DocWrite{
		{ID: "scan:01J0000000000000000000000A", Path: []rev.ID{first}, Body: fact},
		{ID: "ticket:0000000000000001", Path: []rev.ID{first}, Body: []byte(`{"event_id":1}`)},
	})
	if err != nil || results[0].Err != nil || !errors.Is(results[1].Err, auth.ErrForbidden) {
		t.Fatalf("Write() = %v, %v, want the fact taken and the ticket refused", results, err)
	}
	for _, name := range []string{"event-1-names", "event-1-holders"} { // it hands over all that it has, one refusal for each
		if db, err = s.Docs.Database(p, name); err != nil {
			t.Fatalf("Database(%s) of a revoked laptop = %v", name, err)
		}
		if results, err = db.Write([]merge.DocWrite{{ID: "holder:0000000000000001", Path: []rev.ID{first}, Body: []byte(`{"event_id":1}`)}}); err != nil || !errors.Is(results[0].Err, auth.ErrForbidden) {
			t.Errorf("Write() to %s = %v, %v, want the document refused", name, results, err)
		}
	}
	own, err := s.Docs.Database(auth.Operator(), "event-1")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := own.Read("scan:01J0000000000000000000000A", docs.Ask{Leaves: true})
	if err != nil || len(doc.Revisions) != 1 || !strings.Contains(string(doc.Revisions[0].Body), `"flags":["needs_review"]`) || doc.Revisions[0].Revision != first {
		t.Errorf("the fact is %v, %v, want it marked under its own revision", doc.Revisions, err)
	}
	page, err := s.Door.Reviews(auth.Operator(), desk.Part{Where: []desk.Where{{Field: "flags", In: []any{admission.FlagNeedsReview}}}, Limit: 9})
	if err != nil || page.Count != 1 || page.Items[0].Kind != record.Scan || page.Items[0].Outcome != "unknown_code" || page.Items[0].Node != laptopNode {
		t.Errorf("Reviews = %+v, %v, want the refused scan", page, err)
	}
}

func TestJoinTakesAnEmptyStoreOver(t *testing.T) {
	c := office.Credential{Realm: "01J00000000000000000000009", CodeKey: make([]byte, 32)}
	u := table.Upstream{URL: "https://centre.example", Node: anotherNode, Key: "dw_k", Secret: "s"}
	s := kvtest.Open(t)
	key, secret := kvtest.Key(t, s, "denomination", "*:*")
	if err := s.Laptop.Join(auth.Operator(), u, c); err != nil {
		t.Fatal(err)
	}
	got, ok, err := s.Laptop.Upstream()
	if s.Tables.Identity.Realm() != c.Realm || s.Tables.Identity.Centre() != anotherNode || !ok || got.Key != "dw_k" || err != nil {
		t.Errorf("after Join: realm %s, centre %s, upstream %+v %v %v", s.Tables.Identity.Realm(), s.Tables.Identity.Centre(), got, ok, err)
	}
	p, err := s.Keys.Login(key, secret)
	if err != nil || p.Key() < record.FirstDrawn {
		t.Errorf("a key made before is %d, %v, want it good under an id that no centre gives", p.Key(), err)
	}
	kvtest.Create(t, s, record.Role, `{"name":"Pastora"}`)
	if err := s.Laptop.Join(auth.Operator(), u, office.Credential{Realm: anotherNode}); !errors.Is(err, laptop.ErrOtherRealm) {
		t.Errorf("Join(another realm, with records) = %v, want ErrOtherRealm", err)
	}
	if err := s.Laptop.Join(auth.Operator(), u, c); err != nil {
		t.Errorf("Join(the same realm again) = %v", err)
	}
	if rep, err := s.Files.Verify(auth.Operator(), nil); err != nil || rep.Damaged > 0 {
		t.Errorf("Verify() = %+v, %v", rep, err)
	}
}

// TestAnOperationKnowsTheRecordsOfItsGroup: what an operation before it in the same commit has made is there for it, and what that one has deleted
// is not.
func TestAnOperationKnowsTheRecordsOfItsGroup(t *testing.T) {
	enrol := func(s *kv.Store, level auth.Level) error {
		_, _, _, err := s.Venues.Enrol(auth.Operator(), office.Enrolment{Name: "north", Level: level})
		return err
	}
	whole := auth.Level{Name: auth.Denomination}
	for name, c := range map[string]struct{ before, then func(*kv.Store, int64) error }{
		"a laptop's name": {
			func(s *kv.Store, _ int64) error { return enrol(s, whole) },
			func(s *kv.Store, _ int64) error { return wantFault(enrol(s, whole), "name") },
		},
		"an event": {
			func(s *kv.Store, event int64) error {
				return s.Desk.Delete(auth.Operator(), target(record.Event, event))
			},
			func(s *kv.Store, event int64) error {
				return wantFault(enrol(s, auth.Level{Name: auth.EventOf, IDs: []int64{event}}), "event")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := kvtest.Open(t)
			event := kvtest.Create(t, s, record.Event, `{"name":"Sunday","start_datetime":"2026-05-03T19:00:00Z"}`)
			inOneGroup(t, s, func() error { return c.before(s, event) }, func() error { return c.then(s, event) })
			healthy(t, s)
		})
	}
	t.Run("an event's tickets", func(t *testing.T) {
		s := kvtest.Open(t)
		event := kvtest.Create(t, s, record.Event, `{"name":"Sunday","start_datetime":"2026-05-03T19:00:00Z"}`)
		var changed entry.Reply
		inOneGroup(t, s, func() error {
			_, err := s.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket}, kvtest.Parse(t, record.TicketForm, fmt.Sprintf(`{"event_id":%d,"code":"KX7A"}`, event), true))
			return err
		}, func() (err error) {
			changed, err = s.Desk.Update(auth.Operator(), desk.Target{Surface: record.V1, Kind: record.Event, ID: record.Int(event)}, kvtest.Parse(t, record.Event, `{"name":"Evening"}`, false))
			return err
		})
		if !strings.Contains(string(changed.JSON), `"issued_tickets":1`) {
			t.Errorf("the event's answer is %s, want one ticket", changed.JSON)
		}
	})
	t.Run("a key", func(t *testing.T) {
		s := kvtest.Open(t)
		inOneGroup(t, s, func() error {
			_, _, err := s.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: "door", Level: whole})
			return err
		}, func() error {
			return s.Laptop.Join(auth.Operator(), table.Upstream{Node: anotherNode}, office.Credential{Realm: "01J00000000000000000000009", CodeKey: make([]byte, 32)})
		})
		if all, err := s.Keys.Keys(auth.Operator()); err != nil || len(all) != 1 || all[0].ID < record.FirstDrawn {
			t.Errorf("the keys are %v, %v, want one under an id that no centre gives", all, err)
		}
	})
}

// wantFault returns nil for faults of one field.
func wantFault(err error, field string) error {
	var faults fault.ByField
	if errors.As(err, &faults) && len(faults) == 1 && len(faults[field]) > 0 {
		return nil
	}
	return fmt.Errorf("%w, want a fault of %s", err, field)
}

// inOneGroup runs functions that each hand one operation to the writer, so that one commit has them in this order.
func inOneGroup(t *testing.T, s *kv.Store, all ...func() error) {
	t.Helper()
	release := kv.Hold(s)
	var wg sync.WaitGroup
	for i, fn := range all {
		wg.Go(func() {
			if err := fn(); err != nil {
				t.Errorf("operation %d of the group: %v", i, err)
			}
		})
		waiting(s, i+1)
	}
	groups := kv.Groups(s)
	release()
	wg.Wait()
	if n := kv.Groups(s) - groups; n > 1 {
		t.Errorf("%d commits, want one", n)
	}
}

// TestNoTwoLaptopsHaveOneName: in lists and commands nobody could tell them apart. One that is revoked, and one whose code nobody has
// brought in time, does not count.
func TestNoTwoLaptopsHaveOneName(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	s, event, _, code := invited(t, clock)
	enrols := func(name string, want bool) (id int64) {
		t.Helper()
		id, _, _, err := s.Venues.Enrol(auth.Operator(), office.Enrolment{Name: name, Level: auth.Level{Name: auth.EventOf, IDs: []int64{event}}})
		var faults fault.ByField
		switch {
		case want && err != nil:
			t.Errorf("Enrol(%q) = %v", name, err)
		case !want && (!errors.As(err, &faults) || !strings.Contains(strings.Join(faults["name"], ""), "Laptop 1 has this name")):
			t.Errorf("Enrol(%q) = %v, want a fault that names laptop 1", name, err)
		}
		return id
	}
	enrols(" North ", false) // its code waits
	clock.Move(25 * time.Hour)
	second := enrols("north", true)
	if err := s.Venues.RevokeVenue(auth.Operator(), second); err != nil {
		t.Fatal(err)
	}
	enrols("north", true)
	if _, err := s.Venues.Exchange(code, office.Joiner{Node: laptopNode}); !errors.Is(err, office.ErrCode) {
		t.Fatalf("Exchange of the old code = %v", err)
	}
	s, event, first, code := invited(t, clock)
	if _, err := s.Venues.Exchange(code, office.Joiner{Node: laptopNode, Secret: keys.HashSecret("mine")}); err != nil {
		t.Fatal(err)
	}
	clock.Move(25 * time.Hour)
	enrols("north", false) // it has joined
	if err := s.Venues.RevokeVenue(auth.Operator(), first); err != nil {
		t.Fatal(err)
	}
	enrols("north", true)
}

// enrolments are all that a laptop could be enrolled for at the store of twoChurches, and more that is not there.
func enrolments() (all []office.Enrolment) {
	event := func(ids ...int64) auth.Level { return auth.Level{Name: auth.EventOf, IDs: ids} }
	church := func(ids ...int64) auth.Level { return auth.Level{Name: auth.ChurchOf, IDs: ids} }
	for _, level := range []auth.Level{event(1), event(3), event(9), event(), church(1), church(1, 2), church(9), {Name: auth.Denomination}} {
		for _, events := range [][]int64{nil, {1}, {2}, {3, 3}, {9}} {
			for bits := range 8 {
				v := auth.Venue{Finance: bits&1 != 0, Mirror: bits&2 != 0, Names: bits&4 != 0}
				all = append(all, office.Enrolment{Level: level, Events: events, Venue: v})
			}
		}
	}
	return all
}

// TestAMirrorTakesEventsOfAnyChurch: it takes all churches along, whichever it was enrolled for.
func TestAMirrorTakesEventsOfAnyChurch(t *testing.T) {
	s := twoChurches(t) // event 2 is of church 2
	for mirror, want := range map[bool]string{true: "ok", false: "faults"} {
		e := office.Enrolment{Name: "hall", Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{1}}, Events: []int64{2}, Venue: auth.Venue{Mirror: mirror}}
		if _, _, _, err := s.Venues.Enrol(auth.Operator(), e); kindOf(err) != want {
			t.Errorf("mirror %t: %v, want %s", mirror, err, want)
		}
	}
}

// TestEnrolRefusesWhatItsPullWouldRefuse: each database that a laptop is told to exchange is one that it may read or write, and nothing
// that it was enrolled for is missing among them.
func TestEnrolRefusesWhatItsPullWouldRefuse(t *testing.T) {
	s := twoChurches(t)
	taken := 0
	for i, e := range enrolments() {
		e.Name = fmt.Sprint("laptop ", i)
		name := fmt.Sprintf("%s, events %v, %+v", e.Level.String(), e.Events, e.Venue)
		_, code, _, err := s.Venues.Enrol(auth.Operator(), e)
		var faults fault.ByField
		if errors.As(err, &faults) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		taken++
		c, err := s.Venues.Exchange(code, office.Joiner{Node: ulid.Make().String(), Secret: keys.HashSecret("mine")})
		if err != nil {
			t.Fatalf("%s: Exchange = %v", name, err)
		}
		p, err := s.Keys.Login(c.Key, "mine")
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.Venues.Exchanged(p, 0)
		if err != nil {
			t.Fatalf("%s: Exchanged = %v", name, err)
		}
		held := map[string]bool{}
		for _, x := range all {
			if held[x.Name] {
				t.Errorf("%s: %s is exchanged twice", name, x.Name)
			}
			held[x.Name] = true
			mayExchange(t, s, p, name, x)
		}
		for _, want := range wanted(&e) {
			if !held[want] {
				t.Errorf("%s: %s is not exchanged", name, want)
			}
		}
	}
	if taken < 20 {
		t.Errorf("only %d enrolments were taken", taken)
	}
}

// mayExchange checks that a laptop may do with a database what it is told to do.
func mayExchange(t *testing.T, s *kv.Store, p auth.Principal, name string, x office.Exchanged) {
	t.Helper()
	db, err := s.Docs.Database(p, x.Name)
	if err != nil {
		t.Errorf("%s: Database(%s) = %v", name, x.Name, err)
		return
	}
	if x.Pull {
		if _, _, err := db.Changes(docs.Feed{Limit: 1}); err != nil {
			t.Errorf("%s: pull of %s = %v", name, x.Name, err)
		}
	}
	if x.Push {
		if _, err := db.Write(nil); err != nil {
			t.Errorf("%s: push to %s = %v", name, x.Name, err)
		}
	}
}

// wanted are the databases that an enrolment asks for.
func wanted(e *office.Enrolment) (names []string) {
	events := e.Events
	if e.Level.Name == auth.EventOf {
		events = append(events, e.Level.IDs...)
	}
	for _, id := range events {
		names = append(names, fmt.Sprint("event-", id))
		if e.Venue.Names {
			names = append(names, fmt.Sprintf("event-%d-names", id))
		}
	}
	if e.Level.Name == auth.ChurchOf && !e.Venue.Mirror { // a mirror has all churches in records
		for _, id := range e.Level.IDs {
			names = append(names, fmt.Sprint("church-", id))
			if e.Venue.Finance {
				names = append(names, fmt.Sprintf("church-%d-finance", id))
			}
		}
	}
	if e.Venue.Mirror {
		names = append(names, "records")
	}
	return names
}
