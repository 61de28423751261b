package kv_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/merge"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/kv/value"
)

// within tells whether a level lies within a caller's: an event without a church is nobody's but the denomination's.
func (w world) within(c caller, l auth.Level) bool {
	if c.whole() {
		return true
	}
	for _, id := range l.IDs {
		ok := c.level.Name == l.Name && slices.Contains(c.level.IDs, id)
		if c.level.Name == auth.RegionalOf || c.level.Name == auth.ChurchOf {
			_, church := w[record.Church][id]
			event := w[record.Event][id]
			ok = ok || l.Name == auth.ChurchOf && c.level.Name == auth.RegionalOf && church && w.owns(c, id) ||
				l.Name == auth.EventOf && event["church_id"] != 0 && w.owns(c, event["church_id"])
		}
		if !ok {
			return false
		}
	}
	return l.Name != auth.Denomination
}

// covers tells whether a caller may do all that another may.
func (c caller) covers(other caller) bool {
	for _, resource := range resources {
		for _, method := range []string{"GET", "POST", "PATCH", "PUT", "DELETE"} {
			if other.allows(resource, method) && !c.allows(resource, method) {
				return false
			}
		}
	}
	return true
}

// plain tells a list of permissions without wildcards: of those the store must not refuse any that the maker has.
func (c caller) plain() bool {
	return len(c.permissions) > 0 && !slices.ContainsFunc(c.permissions, func(p string) bool { return strings.Contains(p, "*") })
}

func TestNoKeyMakesALargerOne(t *testing.T) {
	t.Parallel()
	drawnStore(t, func(t *rapid.T, w world, s *kv.Store) {
		for range 12 {
			maker, made := drawnCaller(t, "maker"), drawnCaller(t, "made")
			if len(maker.permissions) > 0 && rapid.Bool().Draw(t, "admin") {
				maker.permissions = append(maker.permissions, "admin:POST")
			}
			p := maker.login(t, s)
			k, secret, err := s.Keys.AddKey(p, made.spec(t))
			within := w.within(maker, made.level) && maker.covers(made)
			switch {
			case !maker.allows("admin", "POST") || !within:
				if kindOf(err) != "forbidden" {
					t.Fatalf("%v makes %v: %v, want forbidden", maker, made, err)
				}
				continue
			case err != nil && (made.plain() || maker.permissions[0] == "*:*"):
				t.Fatalf("%v makes %v: %v, want a key", maker, made, err)
			case err != nil:
				continue // each method is there, but not the wildcard
			}
			q, err := s.Keys.Login(k.Key, secret)
			if err != nil {
				t.Fatal(err)
			}
			compareSight(t, s, p, q)
		}
	})
}

// compareSight wants everything that one principal sees to be seen by another.
func compareSight(t *rapid.T, s *kv.Store, larger, smaller auth.Principal) {
	for _, k := range record.Kinds() {
		q := desk.Query{Surface: record.Admin, Kind: k, Limit: 1000}
		if k.Resource != "" && k.Resource != "admin" {
			q.Surface = record.V1
		}
		page, err := s.Desk.List(smaller, q)
		if err != nil {
			continue
		}
		for _, id := range page.IDs {
			if _, err := s.Desk.Retrieve(larger, desk.Target{Surface: q.Surface, Kind: k, ID: id}); err != nil {
				t.Errorf("a key sees %s %s, which its maker does not: %v", k.Name, k.FormatID(id), err)
			}
		}
	}
}

func TestKeysAreListedAndRevokedWithinTheirMaker(t *testing.T) {
	s, _ := opened(t)
	loaded(t, s, row(t, record.Regional, 1, `{"name":"R"}`), row(t, record.Church, 1, `{"name":"A","regional_id":1}`),
		row(t, record.Church, 2, `{"name":"B"}`), row(t, record.Event, 7, `{"name":"E","start_datetime":"2026-11-22T19:00:00Z","church_id":1}`))
	levels := []string{"denomination", "regional:1", "church:1", "church:2", "event:7", "event:8"}
	for _, level := range levels {
		kvtest.Key(t, s, level, "people:GET")
	}
	kvtest.Key(t, s, "church:1", "*:*")
	for level, want := range map[string]string{
		"denomination": "denomination regional:1 church:1 church:2 event:7 event:8 church:1 X",
		"regional:1":   "regional:1 church:1 event:7 church:1 X", "church:1": "church:1 event:7 church:1 X", "church:2": "church:2 X", "event:7": "event:7 X",
	} {
		p := kvtest.Login(t, s, level, "admin:*", "people:*")
		keys, err := s.Keys.Keys(p)
		if err != nil {
			t.Fatalf("Keys(%s): %v", level, err)
		}
		var got []string
		for _, k := range keys {
			if k.Name == "key of "+k.Level.String() && k.ID <= int64(len(levels)+1) {
				got = append(got, k.Level.String())
			}
		}
		if text := strings.Join(append(got, "X"), " "); text != want {
			t.Errorf("Keys(%s) = %s, want %s", level, text, want)
		}
	}
	church := kvtest.Login(t, s, "church:1", "admin:*", "people:*")
	for id, want := range map[int64]string{1: "not found", 2: "not found", 4: "not found", 99: "not found", 7: "forbidden", 3: "ok", 5: "ok"} {
		if err := s.Keys.RevokeKey(church, id); kindOf(err) != want {
			t.Errorf("church:1 revokes key %d: %v, want %s", id, err, want)
		}
	}
	if err := s.Keys.RevokeKey(kvtest.Login(t, s, "denomination", "people:*"), 1); kindOf(err) != "forbidden" {
		t.Errorf("revoking without admin:DELETE = %v, want forbidden", err)
	}
}

// Of the revoked keys a laptop's still brings its facts, and that of an event's door its scans; no other brings anything.
func TestWhichRevokedKeysBringFacts(t *testing.T) {
	s := twoChurches(t)
	level, venue := auth.Level{Name: auth.EventOf, IDs: []int64{1}}, auth.Venue{Node: ulid.Make().String()}
	k, secret, err := s.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: "laptop", Level: level, Permissions: []auth.Permission{{Resource: "*", Method: "*"}}, Node: venue})
	if err != nil {
		t.Fatal(err)
	}
	laptop, err := s.Keys.Login(k.Key, secret)
	if err != nil {
		t.Fatal(err)
	}
	made := func(level, permission string) auth.Principal { return kvtest.Login(t, s, level, permission) }
	for _, test := range []struct {
		name       string
		p          auth.Principal
		node, door bool
	}{
		{"a laptop", laptop, true, false},
		{"a door", made("event:1", "checkin:*"), false, true},
		{"another event's door", made("event:2", "checkin:*"), false, false},
		{"a key of the event that checks nobody in", made("event:1", "people:*"), false, false},
		{"a church's key of the same number", made("church:1", "checkin:*"), false, false},
		{"a key that sees everything", made("denomination", "*:*"), false, false},
		{"no key", auth.Key{Key: "dw_none"}.Principal(), false, false},
	} {
		for _, revoked := range []bool{false, true} {
			if revoked && test.p.Key() > 0 {
				if err := s.Keys.RevokeKey(auth.Operator(), test.p.Key()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Keys.RevokedNode(test.p.Public()); (err == nil) != (revoked && test.node) || err != nil && !errors.Is(err, table.ErrRevoked) {
				t.Errorf("%s, revoked %t, as a laptop: %v", test.name, revoked, err)
			}
			if _, err := s.Keys.RevokedDoor(test.p.Public(), 1); (err == nil) != (revoked && test.door) || err != nil && !errors.Is(err, table.ErrRevoked) {
				t.Errorf("%s, revoked %t, as a door: %v", test.name, revoked, err)
			}
		}
	}
	church := made("church:1", "*:*")
	level = auth.Level{Name: auth.ChurchOf, IDs: []int64{1, 9}}
	if ids, err := s.Keys.Missing(auth.Operator(), level); err != nil || !slices.Equal(ids, []int64{9}) {
		t.Errorf("Missing = %v, %v, want church 9", ids, err)
	}
	if ids, err := s.Keys.Missing(church, level); err != nil || ids != nil {
		t.Errorf("Missing tells a church of %v, %v", ids, err)
	}
	if _, _, err := s.Keys.KeyExpiry(church); kindOf(err) != "forbidden" {
		t.Errorf("KeyExpiry by a church's key: %v, want forbidden", err)
	}
}

func TestLogin(t *testing.T) {
	clock := kvtest.NewClock(sunday)
	c := kv.Config{Dir: folder(t), Clock: clock.Now}
	s := reopenable(t, c)
	k, secret, err := s.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: "door", Level: auth.Level{Name: auth.EventOf, IDs: []int64{7}}, Expires: sunday.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	other, otherSecret := kvtest.Key(t, s, "denomination")
	for _, pair := range [][2]string{{k.Key, otherSecret}, {other, secret}, {k.Key, ""}, {"", secret}, {"dw_nobody", secret}, {k.Key, secret + "x"}} {
		if _, err := s.Keys.Login(pair[0], pair[1]); !errors.Is(err, table.ErrBadLogin) {
			t.Errorf("Login(%q, %q) = %v, want ErrBadLogin", pair[0], pair[1], err)
		}
	}
	closed(t, s)
	s = kvtest.OpenConfig(t, c)
	p, err := s.Keys.Login(k.Key, secret)
	if err != nil || p.Key() != k.ID || p.Name() != "door" {
		t.Errorf("Login after a restart = %+v, %v", p, err)
	}
	clock.Move(time.Hour - time.Microsecond)
	if _, err := s.Keys.Login(k.Key, secret); err != nil {
		t.Errorf("Login a moment before the key expires: %v", err)
	}
	clock.Move(time.Microsecond)
	if _, err := s.Keys.Login(k.Key, secret); !errors.Is(err, table.ErrBadLogin) {
		t.Errorf("Login with an expired key = %v, want ErrBadLogin", err)
	}
	keys, err := s.Keys.Keys(auth.Operator())
	if err != nil || len(keys) != 2 {
		t.Fatalf("Keys = %+v, %v", keys, err)
	}
	for _, want := range []error{nil, table.ErrNotFound} {
		if err := s.Keys.RevokeKey(auth.Operator(), keys[1].ID); !errors.Is(err, want) {
			t.Errorf("RevokeKey = %v, want %v", err, want)
		}
		if _, err := s.Keys.Login(other, otherSecret); !errors.Is(err, table.ErrBadLogin) {
			t.Errorf("Login with a revoked key = %v, want ErrBadLogin", err)
		}
	}
	for _, line := range exported(t, s) {
		if strings.Contains(line, secret) || strings.Contains(line, "secret") {
			t.Errorf("an export tells a secret: %s", line)
		}
	}
}

// TestAKeyThatThisVersionCannotReadLogsNobodyIn, and locks nobody out: a centre of a later version gives its laptops such keys. The store
// opens with them, lists the others, and names the one that it cannot read in the log.
func TestAKeyThatThisVersionCannotReadLogsNobodyIn(t *testing.T) {
	secret := "a secret of the later version"
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(secret)))
	for name, member := range map[string]string{
		"a permission": `"level":"denomination","permissions":["hologram:GET"],"secret_hash":"` + hash + `"`,
		"a level":      `"level":"planet:1","permissions":["people:GET"],"secret_hash":"` + hash + `"`,
		"a long hash":  `"level":"denomination","permissions":["people:GET"],"secret_hash":"` + hash + `00"`,
		"an odd hash":  `"level":"denomination","permissions":["people:GET"],"secret_hash":"` + hash[1:] + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			c := kv.Config{Dir: folder(t), Logger: slog.New(slog.NewTextHandler(&log, nil))}
			s := reopenable(t, c)
			known, knownSecret := kvtest.Key(t, s, "denomination")
			w := merge.DocWrite{ID: "api_key:0000000000000002", Path: []rev.ID{{Generation: 1, Hash: [16]byte{1}}}, Body: []byte(`{"name":"later","key":"dw_later",` + member + `}`)}
			if err := push(t, opens(t, s, auth.Operator(), "records"), w); err != nil {
				t.Fatal(err)
			}
			for _, when := range []string{"at once", "after a restart"} {
				if _, err := s.Keys.Login(known, knownSecret); err != nil {
					t.Errorf("%s: Login with the key that can be read: %v", when, err)
				}
				if _, err := s.Keys.Login("dw_later", secret); !errors.Is(err, table.ErrBadLogin) {
					t.Errorf("%s: Login with the key that cannot be read = %v, want ErrBadLogin", when, err)
				}
				if listed, err := s.Keys.Keys(auth.Operator()); err != nil || len(listed) != 1 || listed[0].Key != known {
					t.Errorf("%s: Keys = %+v, %v, want the one that can be read", when, listed, err)
				}
				if n := strings.Count(log.String(), "level=WARN msg=\"an api key cannot be read by this version; it logs nobody in\" key=2"); n != 1 {
					t.Errorf("%s: the log names the key %d times, want once:\n%s", when, n, log.String())
				}
				closed(t, s)
				log.Reset()
				s = reopenable(t, c)
			}
			closed(t, s)
		})
	}
}

func TestAKeyMakesNoKeyThatOutlastsIt(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	s := kvtest.OpenConfig(t, kv.Config{Clock: clock.Now})
	until := clock.Now().Add(48 * time.Hour)
	all, err := auth.ParsePermission("*:*")
	if err != nil {
		t.Fatal(err)
	}
	k, secret, err := s.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: "guest", Level: auth.Level{Name: auth.Denomination},
		Permissions: []auth.Permission{all}, Expires: until, Rate: 60})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Keys.Login(k.Key, secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		expires time.Time
		rate    int
		want    error
	}{
		"as long and as fast": {until, 60, nil},
		"shorter and slower":  {until.Add(-time.Hour), 1, nil},
		"longer":              {until.Add(time.Second), 60, auth.ErrForbidden},
		"for ever":            {time.Time{}, 60, auth.ErrForbidden},
		"faster":              {until, 61, auth.ErrForbidden},
		"without a limit":     {until, 0, auth.ErrForbidden},
	} {
		_, _, err := s.Keys.AddKey(p, keys.KeySpec{Name: name, Level: auth.Level{Name: auth.Denomination}, Permissions: []auth.Permission{all}, Expires: c.expires, Rate: c.rate})
		if !errors.Is(err, c.want) {
			t.Errorf("AddKey of a key that is good %s = %v, want %v", name, err, c.want)
		}
	}
}

// TestARevisionOnThePresentOneKeepsItsBody: a page that edited twice offline brings both at once. Whoever made the last one holds
// it as it was brought, and so must the store: what it sets itself is a revision of its own.
func TestARevisionOnThePresentOneKeepsItsBody(t *testing.T) {
	t.Parallel()
	s := twoChurches(t)
	for between := range 3 {
		id := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
		db := opens(t, s, kvtest.Login(t, s, "church:1", "*:*"), "church-1")
		w := onTop(t, db, record.Person.DocID(record.Int(id)), `"membership_number":null`, `"membership_number":" 7"`)
		present := w.Path[1]
		w.Path = append(chain("cba"[:1+between]), present)
		for i := range w.Path[:1+between] {
			w.Path[i].Generation = present.Generation + uint64(1+between-i)
		}
		if err := push(t, db, w); err != nil {
			t.Fatal(err)
		}
		doc, err := db.Read(w.ID, docs.Ask{Revisions: w.Path[:1]})
		if err != nil || len(doc.Revisions) != 1 {
			t.Fatalf("%d revisions between: the last is %+v, %v", between, doc, err)
		}
		if is := string(doc.Revisions[0].Body); is != string(w.Body) {
			t.Errorf("%d revisions between: the last is %s, want what was brought: %s", between, is, w.Body)
		}
		settled, err := db.Read(w.ID, docs.Ask{})
		if err != nil || !slices.Equal(settled.Tree.Path(settled.Revisions[0].Revision)[1:], w.Path) {
			t.Errorf("%d revisions between: what the store set is %+v, %v, want a revision on the last", between, settled.Tree.Nodes(), err)
		}
		r, err := s.Desk.Retrieve(auth.Operator(), desk.Target{Kind: record.Person, ID: record.Int(id)})
		if number := member(r.JSON, "membership_number"); err != nil || number != "7" {
			t.Errorf("%d revisions between: /v1 shows the number %s, %v, want 7", between, number, err)
		}
	}
	healthy(t, s)
}

// revokedFirst revokes a key, and runs a function that hands one operation to the writer: both are in one commit, in this order.
func revokedFirst(t *testing.T, s *kv.Store, key int64, then func() error) error {
	t.Helper()
	for s.Tables.Engine.DoorWithin(time.Second) { // else the writer may commit the revocation alone
		time.Sleep(10 * time.Millisecond)
	}
	started, end, revoked, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, 1)
	steps := []func(*table.Tx) error{func(o *table.Tx) error {
		st, err := o.Load(record.APIKey, record.Int(key))
		if err == nil {
			_, err = entry.Amend(o, auth.Operator(), record.APIKey, st, func(d *record.Doc) { d.Set("revoked_at", value.Time(o.Now)) })
		}
		return err
	}, func(*table.Tx) error {
		close(started)
		<-end
		return nil
	}}
	groups := kv.Groups(s)
	run := func(o *table.Tx, step func(*table.Tx) error) error { return step(o) }
	go func() { revoked <- table.DoEach(s.Tables, steps, run) }()
	<-started
	go func() { ended <- then() }()
	waiting(s, 1)
	close(end)
	if err := <-revoked; err != nil {
		t.Fatal(err)
	}
	err := <-ended
	if n := kv.Groups(s) - groups; n != 1 {
		t.Errorf("%d commits, want one", n)
	}
	return err
}

// TestARevokedKeyWritesNothingInTheSameCommit: a request that had logged in before its key was revoked is refused as a whole, if the writer comes
// to it after the revocation.
func TestARevokedKeyWritesNothingInTheSameCommit(t *testing.T) {
	s, _ := opened(t)
	newNotes(t, s)
	event := newEvent(t, s, "")
	newTicket(t, s, event, "K1", "")
	newTicket(t, s, event, "K2", "")
	person := kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
	in := scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K1"}, outcome.Admitted)
	for name, write := range map[string]func(p auth.Principal) error{
		"a check-in": func(p auth.Principal) error {
			_, err := s.Door.CheckIn(p, door.Attempt{Event: event, Code: "K2"})
			return err
		},
		"scans": func(p auth.Principal) error {
			_, err := s.Door.CheckInAll(p, []door.Attempt{{Event: event, Code: "K2", LetIn: true}, {Event: event, Code: "K1", LetIn: true}})
			return err
		},
		"an undo": func(p auth.Principal) error {
			_, err := s.Door.Undo(p, door.Undoing{Event: event, CheckinID: in.CheckinID})
			return err
		},
		"a create": func(p auth.Principal) error {
			_, err := s.Desk.Create(p, target(record.Person, 0), kvtest.Parse(t, record.Person, `{"full_name":"Bia"}`, true))
			return err
		},
		"a change": func(p auth.Principal) error {
			_, err := s.Desk.Update(p, target(record.Person, person), kvtest.Parse(t, record.Person, `{"full_name":"Bia"}`, false))
			return err
		},
		"a deletion": func(p auth.Principal) error { return s.Desk.Delete(p, target(record.Person, person)) },
		"an import": func(p auth.Principal) error {
			_, err := s.Desk.Upsert(p, []entry.Row{row(t, record.Person, 0, `{"full_name":"Bia"}`)}, false)
			return err
		},
		"a key": func(p auth.Principal) error {
			_, _, err := s.Keys.AddKey(p, keys.KeySpec{Name: "door", Level: auth.Level{Name: auth.EventOf, IDs: []int64{event}}})
			return err
		},
		"a revocation": func(p auth.Principal) error { return s.Keys.RevokeKey(p, p.Key()+1) },
		"a document": func(p auth.Principal) error {
			_, err := by(s, p, "notes").Write([]merge.DocWrite{{ID: "late", Body: []byte(`{}`)}})
			return err
		},
		"a local document": func(p auth.Principal) error {
			_, err := by(s, p, "notes").PutLocal("late", []byte(`{}`), docs.Whatever)
			return err
		},
		"an upload": func(p auth.Principal) error {
			_, err := by(s, p, "notes").PutBlob(strings.NewReader("late"))
			return err
		},
		"an erasure": func(p auth.Principal) error {
			_, err := s.Erasures.Erase(p, record.Person, record.Int(person))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, other := kvtest.Login(t, s, "denomination", "*:*"), kvtest.Login(t, s, "denomination", "*:*")
			records := func() []string {
				return slices.DeleteFunc(exported(t, s), func(line string) bool { return strings.HasPrefix(line, record.APIKey.Name) })
			}
			before := records()
			if err := revokedFirst(t, s, p.Key(), func() error { return write(p) }); !errors.Is(err, table.ErrRevoked) {
				t.Errorf("%v, want ErrRevoked", err)
			}
			if _, err := of(s).Read("late", docs.Ask{}); !errors.Is(err, table.ErrNotFound) {
				t.Errorf("the document: %v, want none", err)
			}
			if diff := cmp.Diff(before, records()); diff != "" {
				t.Errorf("the records have changed:\n%s", diff)
			}
			if _, err := s.Keys.Standing(other); err != nil {
				t.Errorf("another key: %v", err)
			}
		})
	}
	healthy(t, s)
}

// TestARevokedKeyIsShownNothingOfTheSameCommit: the keys in memory are read again only after the commit is shown, which takes long where there are
// many. What comes with the revocation is not for the key.
func TestARevokedKeyIsShownNothingOfTheSameCommit(t *testing.T) {
	s := withNotes(t)
	for range 300 {
		kvtest.Key(t, s, "denomination")
	}
	for i := range proof.Count(20, 200) {
		p, late := kvtest.Login(t, s, "denomination", "sync:*"), fmt.Sprintf("late%d", i)
		info, err := infoOf(s, p, "notes")
		if err != nil {
			t.Fatal(err)
		}
		shown, db := make(chan error), by(s, p, "notes")
		go func() {
			for {
				page, _, err := db.Changes(docs.Feed{Since: info.Seq, Limit: 10})
				if len(page) > 0 {
					err = fmt.Errorf("the feed shows %v", page)
				}
				if err != nil {
					shown <- err
					return
				}
			}
		}()
		err = revokedFirst(t, s, p.Key(), func() error {
			_, err := of(s).Write([]merge.DocWrite{{ID: late, Body: []byte(`{}`)}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := <-shown; !errors.Is(err, table.ErrRevoked) {
			t.Fatalf("a feed after the revocation: %v", err)
		}
	}
}
