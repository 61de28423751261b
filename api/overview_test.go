package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/api"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/upkeep"
)

// watch is a served store whose overview is asked for.
type watch struct {
	*testing.T
	store   *kv.Store
	clock   *kvtest.Clock
	free    atomic.Int64
	backlog atomic.Int64
	ends    atomic.Int64 // of the certificate, in hours from now
	url     string
	event   int64 // from 18:00 to 22:00
	laptops map[string]string
}

// theEvening is when a watch begins, an hour after its event.
var theEvening = time.Date(2026, 11, 22, 19, 0, 0, 0, time.UTC)

func newWatch(t *testing.T) *watch { return newWatchIn(t, time.UTC) }

func newWatchIn(t *testing.T, zone *time.Location) *watch {
	w := &watch{T: t, clock: kvtest.NewClock(theEvening), laptops: map[string]string{}}
	w.free.Store(10 << 30)
	w.ends.Store(15 * 24)
	w.store = kvtest.OpenConfig(t, kv.Config{Dir: t.TempDir(), Clock: w.clock.Now, Zone: zone, Free: func() (int64, error) { return w.free.Load(), nil }})
	w.event = kvtest.Create(t, w.store, record.Event, `{"name":"Sunday","start_datetime":"2026-11-22T18:00:00Z","end_datetime":"2026-11-22T22:00:00Z"}`)
	ends := func() time.Time { return w.clock.Now().Add(time.Duration(w.ends.Load()) * time.Hour) }
	server, err := api.New(api.Config{Store: w.store, Address: "127.0.0.1:8080", CertificateEnds: ends, Backlog: func() (int, time.Time, error) {
		return int(w.backlog.Load()), w.clock.Now().Add(-time.Hour), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.must(w.store.Files.NoteBackup(auth.Operator(), "/mnt/stick/friday.db"))
	s := httptest.NewServer(server.Control())
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

// seen is an overview as far as it is looked at.
type seen struct {
	Needs []struct {
		Code, Text string
		Command    []string
		On, See    *string
	}
	NeedsCount int `json:"needs_count"`
	Laptops    []struct {
		Name  string
		Needs []string
	}
	LaptopsCount int `json:"laptops_count"`
	Events       []struct {
		ID               int64
		Admitted, Inside int
		Reentry          bool
	}
}

func (w *watch) look(query string) (o seen) {
	w.Helper()
	resp, err := http.Get(w.url + "/control/status" + query)
	if err != nil {
		w.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(body, &o) != nil {
		w.Fatalf("GET status = %s %s, %v", resp.Status, body, err)
	}
	return o
}

// enrols enrols a laptop for the event, which joins.
func (w *watch) enrols(name string) int64 {
	w.Helper()
	return w.enrolsFor(fmt.Sprint("event:", w.event), office.Enrolment{Name: name, Venue: auth.Venue{Names: true}})
}

// enrolsFor enrols a laptop of a level.
func (w *watch) enrolsFor(of string, e office.Enrolment) int64 {
	w.Helper()
	name := e.Name
	var err error
	if e.Level, err = auth.ParseLevel(of); err != nil {
		w.Fatal(err)
	}
	id, code, _, err := w.store.Venues.Enrol(auth.Operator(), e)
	if err != nil {
		w.Fatal(err)
	}
	c, err := w.store.Venues.Exchange(code, office.Joiner{Node: ulid.Make().String(), Secret: keys.HashSecret(name)})
	if err != nil {
		w.Fatal(err)
	}
	w.laptops[name] = c.Key
	return id
}

// meets has a laptop tell of itself, as in a handshake.
func (w *watch) meets(name string, backlog int, offset time.Duration) {
	w.Helper()
	p, err := w.store.Keys.Login(w.laptops[name], name)
	if err != nil {
		if p, err = w.store.Keys.RevokedNode(w.laptops[name]); err != nil {
			w.Fatal(err)
		}
	}
	ms, now := offset.Milliseconds(), w.clock.Now()
	c := office.Contact{At: now, Backlog: backlog, Offset: &ms, Version: "v1"}
	if backlog > 0 {
		c.Oldest = now.Add(-time.Second)
	}
	if err := w.store.Venues.NoteContact(p, c); err != nil {
		w.Fatal(err)
	}
}

// scans has a door scan a code that there is not.
func (w *watch) scans(gate string) {
	w.Helper()
	if _, err := w.store.Door.CheckIn(auth.Operator(), door.Attempt{Event: w.event, Code: fmt.Sprint("none", w.clock.Now()), Door: gate}); err != nil {
		w.Fatal(err)
	}
}

// must fails the test on an error.
func (w *watch) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// joins makes the store a laptop.
func (w *watch) joins(u table.Upstream) {
	w.Helper()
	u.URL, u.Node, u.Name, u.Key = "https://centre.example", ulid.Make().String(), "North", "dw_0"
	if u.Pushes == nil {
		u.Pushes = []string{fmt.Sprint("event-", w.event)}
	}
	if u.Ends.IsZero() {
		u.Ends = theEvening.AddDate(1, 0, 0)
	}
	w.must(w.store.Laptop.Join(auth.Operator(), u, office.Credential{Realm: w.store.Tables.Identity.Realm()}))
	w.must(w.store.Tables.Clock.Measure(u.Node, 0, w.clock.Now()))
}

// troubles are what may need a person, each with the codes and commands that say so.
var troubles = map[string]struct {
	trouble func(w *watch)
	want    string // codes with their commands
}{
	"none":                            {func(w *watch) {}, ""},
	"a disk without room for imports": {func(w *watch) { w.free.Store(512 << 20) }, "disk_full"},
	"a disk without room for doors":   {func(w *watch) { w.free.Store(1 << 20) }, "disk_full"},
	"a clock that is doubted": {func(w *watch) { w.must(w.store.Tables.Clock.Measure("somebody", time.Hour, w.clock.Now())) },
		"clock_doubted clock trust"},
	"a laptop that is well": {func(w *watch) { w.enrols("North"); w.meets("North", 0, 0); w.clock.Move(4 * time.Minute) }, ""},
	"a laptop that never joined, and is revoked": {func(w *watch) {
		level, _ := auth.ParseLevel("event:1")
		id, _, _, err := w.store.Venues.Enrol(auth.Operator(), office.Enrolment{Name: "North", Level: level})
		w.must(err)
		w.must(w.store.Venues.RevokeVenue(auth.Operator(), id))
	}, ""},
	"a laptop that was revoked": {func(w *watch) {
		id := w.enrols("North")
		w.meets("North", 0, time.Hour)
		w.clock.Move(time.Second)
		w.must(w.store.Venues.RevokeVenue(auth.Operator(), id))
	}, "laptop_revoked venue wipe North"},
	"a laptop that is revoked and about": {func(w *watch) {
		w.must(w.store.Venues.RevokeVenue(auth.Operator(), w.enrols("North")))
		w.clock.Move(time.Second)
		w.meets("North", 4, 0)
	}, "laptop_revoked venue wipe North"},
	"a laptop that is to be wiped": {func(w *watch) { w.must(w.store.Venues.WipeVenue(auth.Operator(), w.enrols("North"))) }, ""},
	"a laptop whose clock is behind": {func(w *watch) { w.enrols("North"); w.meets("North", 0, 3*time.Minute) },
		"laptop_clock clock trust on North"},
	"a laptop whose clock is nearly right": {func(w *watch) { w.enrols("North"); w.meets("North", 0, 90*time.Second) }, ""},
	"laptops whose clocks are all alike wrong": {func(w *watch) {
		w.enrols("North")
		w.enrols("South")
		w.meets("North", 0, 6*24*time.Hour)
		w.meets("South", 0, 6*24*time.Hour+time.Second)
	}, "clock_of_all"},
	"laptops whose clocks are wrong each by itself": {func(w *watch) {
		w.enrols("North")
		w.enrols("South")
		w.meets("North", 0, 6*24*time.Hour)
		w.meets("South", 0, -time.Hour)
	}, "laptop_clock clock trust on North, laptop_clock clock trust on South"},
	"a laptop with a backlog that was met a moment ago": {func(w *watch) { w.enrols("North"); w.meets("North", 7, 0) }, ""},
	"a laptop with a backlog that is not met": {func(w *watch) { w.enrols("North"); w.meets("North", 7, 0); w.clock.Move(6 * time.Minute) },
		"laptop_backlog status on North"},
	"a laptop with a backlog that stays": {func(w *watch) {
		w.enrols("North")
		p, err := w.store.Keys.Login(w.laptops["North"], "North")
		w.must(err)
		w.must(w.store.Venues.NoteContact(p, office.Contact{At: w.clock.Now(), Backlog: 1, Oldest: w.clock.Now().Add(-6 * time.Minute)}))
	}, "laptop_backlog status on North"},
	"a laptop that is not met while its event is on": {func(w *watch) { w.enrols("North"); w.meets("North", 0, 0); w.clock.Move(6 * time.Minute) },
		"laptop_unmet status on North"},
	"a laptop that is not met after its event": {func(w *watch) { w.enrols("North"); w.meets("North", 0, 0); w.clock.Move(20 * time.Hour) }, ""},
	"a laptop whose credential ends soon": {func(w *watch) { w.enrols("North"); w.clock.Move(375 * 24 * time.Hour) },
		"laptop_credential venue enrol --name North 2 --event 1, backup_due backup /mnt/stick/doorward-2027-12-02.db"},
	"a labels-only laptop whose credential ends soon": {func(w *watch) {
		w.enrolsFor("event:1", office.Enrolment{Name: "North"})
		w.clock.Move(375 * 24 * time.Hour)
	}, "laptop_credential venue enrol --name North 2 --event 1 --door-data labels, backup_due backup /mnt/stick/doorward-2027-12-02.db"},
	"a church's laptop whose credential ends soon": {func(w *watch) {
		kvtest.Create(w, w.store, record.Church, `{"name":"Hill"}`)
		w.enrolsFor("church:1", office.Enrolment{Name: "North", Venue: auth.Venue{Names: true, Finance: true}})
		w.clock.Move(375 * 24 * time.Hour)
	}, "laptop_credential venue enrol --name North 2 --church 1 --finance, backup_due backup /mnt/stick/doorward-2027-12-02.db"},
	"a mirror whose credential ends soon": {func(w *watch) {
		w.enrolsFor("denomination", office.Enrolment{Name: "North", Venue: auth.Venue{Names: true, Mirror: true}})
		w.clock.Move(375 * 24 * time.Hour)
	}, "laptop_credential venue enrol --name North 2 --mirror, backup_due backup /mnt/stick/doorward-2027-12-02.db"},
	"a door that is silent while another scans": {func(w *watch) { w.scans("Side"); w.clock.Move(16 * time.Minute); w.scans("Main") }, "door_silent"},
	"a door that scanned before a clock that ran ahead was put back": {func(w *watch) {
		w.scans("Side")
		w.clock.Move(10 * time.Hour)
		w.scans("Main")
		w.clock.Move(-10*time.Hour + 16*time.Minute)
	}, ""},
	"doors that are all silent":       {func(w *watch) { w.scans("Side"); w.scans("Main"); w.clock.Move(16 * time.Minute) }, ""},
	"a door that was silent for less": {func(w *watch) { w.scans("Side"); w.clock.Move(14 * time.Minute); w.scans("Main") }, ""},
	"a door's key that ends before its event": {func(w *watch) { w.key("porta", "event:1", 2*time.Hour) },
		"key_ends keys add --name porta --level event:1 --allow checkin:* --expires 48h"},
	"a door's key that ends after its event": {func(w *watch) { w.key("porta", "event:1", 4*time.Hour) }, ""},
	"a door's key that has ended":            {func(w *watch) { w.key("porta", "event:1", time.Hour); w.clock.Move(2 * time.Hour) }, "key_ends keys add --name porta --level event:1 --allow checkin:* --expires 48h"},
	"a door's key whose event is over too":   {func(w *watch) { w.key("porta", "event:1", time.Hour); w.clock.Move(4 * time.Hour) }, ""},
	"another key that ends this week":        {func(w *watch) { w.key("site", "denomination", 6*24*time.Hour) }, "key_ends keys add --name site --level denomination --allow checkin:* --expires 48h"},
	"another key that ends next month":       {func(w *watch) { w.key("site", "denomination", 20*24*time.Hour) }, ""},
	"a scan under a doubted clock": {func(w *watch) {
		w.must(w.store.Tables.Clock.Measure("somebody", time.Hour, w.clock.Now()))
		w.scans("Main")
		w.must(w.store.Tables.Clock.Measure("somebody", 0, w.clock.Now()))
	}, "reviews see /admin/v1/reviews/?event_id=1"},
	"somebody who was let in twice": {func(w *watch) {
		kvtest.Create(w, w.store, record.Ticket, `{"event_id":1,"code":"K1"}`)
		for range 2 {
			_, err := w.store.Door.CheckInAll(auth.Operator(), []door.Attempt{{Event: 1, Code: "K1", At: w.clock.Now(), LetIn: true}})
			w.must(err)
		}
	}, "double_entries see /admin/v1/double_entries/?event_id=1"},
	"a backup of yesterday": {func(w *watch) { w.clock.Move(40 * time.Hour) }, ""},
	"a backup of last week": {func(w *watch) { w.clock.Move(49 * time.Hour) }, "backup_due backup /mnt/stick/doorward-2026-11-24.db"},
	"a backup of a clock that was ahead": {func(w *watch) {
		w.clock.Move(3650 * 24 * time.Hour)
		w.must(w.store.Files.NoteBackup(auth.Operator(), "/mnt/other/ahead.db"))
		w.clock.Move(-3650*24*time.Hour + 49*time.Hour)
	}, "backup_due backup /mnt/stick/doorward-2026-11-24.db"},
	"one backup, of a clock that was ahead": {func(w *watch) {
		w.clock.Move(3650 * 24 * time.Hour)
		w.must(w.store.Files.NoteBackup(auth.Operator(), "/mnt/stick/friday.db")) // in the place of the right one
		w.clock.Move(-3650 * 24 * time.Hour)
	}, "backup_due backup /mnt/stick/doorward-2026-11-22.db"},
	"a check that found something": {func(w *watch) {
		w.must(upkeep.NoteVerify(w.store.Tables.Folder.Dir, upkeep.Verification{At: w.clock.Now(), Faults: 2}))
	}, "verify_faults verify"},
	"a note of the last check that is damaged": {func(w *watch) {
		w.must(os.WriteFile(filepath.Join(w.store.Tables.Folder.Dir, "doorward.verify"), []byte("x"), 0o600))
	}, "damaged verify"},
	"a certificate that ends soon": {func(w *watch) { w.ends.Store(13 * 24) }, "certificate_ends"},
	"a conflict":                   {func(w *watch) { tear(w.T, w.store) }, "conflicts see /admin/v1/conflicts/"},
	"a store whose file is gone":   {func(w *watch) { w.must(os.Remove(table.Path(w.store.Tables.Folder.Dir))) }, "store_stopped verify"},
	"an erasure whose bytes are in the file for long": {func(w *watch) {
		person := kvtest.Create(w, w.store, record.Person, `{"full_name":"Ana Souza"}`)
		_, err := w.store.Erasures.Erase(auth.Operator(), record.Person, record.Int(person))
		w.must(err)
		w.clock.Move(25 * time.Hour)
	}, "compaction_due compact"},
	"an erasure of today": {func(w *watch) {
		person := kvtest.Create(w, w.store, record.Person, `{"full_name":"Ana Souza"}`)
		_, err := w.store.Erasures.Erase(auth.Operator(), record.Person, record.Int(person))
		w.must(err)
		w.clock.Move(time.Hour)
	}, ""},
	"a laptop's own revocation": {func(w *watch) { w.holds(); w.joins(table.Upstream{Revoked: true}) }, "revoked venue enrol --name North --event 1 on centre"},
	"the revocation of a labels-only laptop": {func(w *watch) {
		w.holds()
		w.joins(table.Upstream{Revoked: true, Pulls: []string{"reference", "event-1"}})
	}, "revoked venue enrol --name North --event 1 --door-data labels on centre"},
	"the revocation of a church's laptop": {func(w *watch) {
		w.holds()
		w.joins(table.Upstream{Revoked: true, Pushes: []string{"church-1", "church-1-finance", "event-1", "event-1-names"}, Pulls: []string{"reference", "church-1", "event-1", "event-1-names"}})
	}, "revoked venue enrol --name North --church 1 --finance on centre"},
	"the revocation of a church's laptop for one event": {func(w *watch) {
		w.holds()
		w.joins(table.Upstream{Revoked: true, Chosen: true, Pushes: []string{"church-1", "event-1", "event-1-names"}, Pulls: []string{"reference", "church-1", "event-1", "event-1-names"}})
	}, "revoked venue enrol --name North --church 1 --event 1 on centre"},
	"a laptop's own credential":    {func(w *watch) { w.holds(); w.joins(table.Upstream{Ends: theEvening.Add(time.Hour)}) }, "credential_ends venue enrol --name North 2 --event 1 on centre"},
	"a centre that was met":        {func(w *watch) { w.holds(); w.joins(table.Upstream{}) }, ""},
	"a centre that is not reached": {func(w *watch) { w.holds(); w.joins(table.Upstream{}); w.clock.Move(6 * time.Minute) }, "centre_unmet"},
	"a backlog that stays":         {func(w *watch) { w.holds(); w.joins(table.Upstream{}); w.backlog.Store(3) }, "backlog"},
	"a centre of another time zone": {func(w *watch) { w.holds(); w.joins(table.Upstream{Zone: "America/Sao_Paulo"}) },
		"wrong_zone serve --timezone America/Sao_Paulo"},
	"a centre of another time zone in summer": {func(w *watch) { w.holds(); w.joins(table.Upstream{Zone: "Europe/London"}) },
		"wrong_zone serve --timezone Europe/London"},
	"a centre of a time zone with the same times":  {func(w *watch) { w.holds(); w.joins(table.Upstream{Zone: "Africa/Abidjan"}) }, ""},
	"a centre of a time zone that is unknown here": {func(w *watch) { w.holds(); w.joins(table.Upstream{Zone: "America/Nowhere"}) }, ""},
	"a laptop that holds no event":                 {func(w *watch) { w.joins(table.Upstream{}) }, "no_event"},
}

// TestAnOverviewSaysWhatNeedsAPerson brings about one trouble after the other, each in a store of its own.
func TestAnOverviewSaysWhatNeedsAPerson(t *testing.T) {
	t.Parallel()
	for name, c := range troubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatch(t)
			c.trouble(w)
			o := w.look("")
			var got []string
			for _, n := range o.Needs {
				line := strings.Join(append([]string{n.Code}, n.Command...), " ")
				if n.On != nil {
					line += " on " + *n.On
				}
				if n.See != nil {
					line += " see " + *n.See
				}
				got = append(got, line)
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("it needs %q, want %q: %+v", text, c.want, o.Needs)
			}
		})
	}
}

// key makes a key that ends after a while.
func (w *watch) key(name, level string, after time.Duration) {
	w.Helper()
	l, err := auth.ParseLevel(level)
	w.must(err)
	may, err := auth.ParsePermission("checkin:*")
	w.must(err)
	_, _, err = w.store.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: name, Level: l, Permissions: []auth.Permission{may}, Expires: w.clock.Now().Add(after)})
	w.must(err)
}

// holds gives the event a ticket: a laptop with it is ready for the event.
func (w *watch) holds() { kvtest.Create(w, w.store, record.Ticket, `{"event_id":1,"code":"K1"}`) }

// TestAnOverviewNamesAHundred cuts its lists, those laptops first that need something.
func TestAnOverviewNamesAHundred(t *testing.T) {
	w := newWatch(t)
	for i := range 120 {
		w.enrols(fmt.Sprint("L", i))
		if i >= 10 {
			w.meets(fmt.Sprint("L", i), 0, time.Duration(i)*time.Minute)
		}
	}
	o := w.look("")
	if len(o.Laptops) != 100 || o.LaptopsCount != 120 || len(o.Needs) != 100 || o.NeedsCount != 110 {
		t.Errorf("%d of %d laptops, %d of %d needs; want 100 of 120, and of 110", len(o.Laptops), o.LaptopsCount, len(o.Needs), o.NeedsCount)
	}
	for _, l := range o.Laptops {
		if !slices.Equal(l.Needs, []string{"laptop_clock"}) {
			t.Fatalf("laptop %s, which needs %v, is among the first hundred", l.Name, l.Needs)
		}
	}
}

// TestAnOverviewOfOneEvent leaves out laptops of others, and is 404 for an event that is not there.
func TestAnOverviewOfOneEvent(t *testing.T) {
	w := newWatch(t)
	other := kvtest.Create(t, w.store, record.Event, `{"name":"Past","start_datetime":"2020-11-22T18:00:00Z"}`)
	w.enrols("North")
	if o := w.look(""); len(o.Events) != 1 || o.Events[0].ID != w.event || o.LaptopsCount != 1 {
		t.Errorf("without an event: %+v, want the one that is on", o)
	}
	if o := w.look(fmt.Sprint("?event=", other)); len(o.Events) != 1 || o.Events[0].ID != other || o.LaptopsCount != 0 {
		t.Errorf("of another event: %+v, want it alone and no laptop", o)
	}
	for _, bad := range []string{"99", "abc", "-1"} {
		wantStatus(t, w.url+"/control/status?event="+bad, http.StatusNotFound)
	}
}

// TestAnOverviewSaysThatNobodyServes: without a server no door is answered, and the time zone is the command's own.
func TestAnOverviewSaysThatNobodyServes(t *testing.T) {
	w := &watch{T: t, clock: kvtest.NewClock(time.Now())}
	w.store, w.url = control(t)
	w.joins(table.Upstream{Zone: "America/Sao_Paulo", Pushes: []string{"church-1"}, Ends: time.Now().AddDate(1, 0, 0)})
	if o := w.look(""); len(o.Needs) != 1 || o.Needs[0].Code != "not_served" || !slices.Equal(o.Needs[0].Command, []string{"serve"}) {
		t.Errorf("needs = %+v, want not_served alone", o.Needs)
	}
}

// TestACentreThatNamesNoTimeZoneHasNoOther: nor does one whose zone is that of its machine.
func TestACentreThatNamesNoTimeZoneHasNoOther(t *testing.T) {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "Local"} {
		w := newWatchIn(t, zone)
		w.holds()
		w.joins(table.Upstream{Zone: name})
		if o := w.look(""); len(o.Needs) != 0 {
			t.Errorf("zone %q: needs = %+v, want none", name, o.Needs)
		}
	}
}

// TestAnOverviewSaysOnceThatTheStoreHasStopped: what follows is the cause alone.
func TestAnOverviewSaysOnceThatTheStoreHasStopped(t *testing.T) {
	w := newWatch(t)
	w.must(os.Remove(table.Path(w.store.Tables.Folder.Dir)))
	if text := w.look("").Needs[0].Text; strings.Count(text, "has stopped") != 1 {
		t.Errorf("it needs %q, want it said once that the store has stopped", text)
	}
}

// TestAnOverviewTellsARevokedLaptopThatIsAbout from one that was not seen since.
func TestAnOverviewTellsARevokedLaptopThatIsAbout(t *testing.T) {
	w := newWatch(t)
	id := w.enrols("North")
	w.meets("North", 0, 0)
	w.clock.Move(time.Minute)
	w.must(w.store.Venues.RevokeVenue(auth.Operator(), id))
	w.clock.Move(30 * time.Minute)
	if text := w.look("").Needs[0].Text; !strings.Contains(text, "was revoked 30 min ago and was not met since") {
		t.Errorf("before it is met: %s", text)
	}
	w.meets("North", 0, 0)
	w.clock.Move(4 * time.Second)
	if text := w.look("").Needs[0].Text; !strings.Contains(text, "is still in use, met 4 s ago") {
		t.Errorf("once it was met: %s", text)
	}
	w.clock.Move(20 * time.Minute)
	if text := w.look("").Needs[0].Text; !strings.Contains(text, "was last met 20 min ago: it still holds its data") {
		t.Errorf("once it is gone: %s", text)
	}
}

// TestAnOverviewTellsCheckinsFromGuests at an event where guests leave and come back: two guests come in three times, and a third check-in of one that is
// inside is listed twice.
func TestAnOverviewTellsCheckinsFromGuests(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	event := kvtest.Create(t, w.store, record.Event, `{"name":"Camp","start_datetime":"2026-11-22T18:00:00Z","end_datetime":"2026-11-22T22:00:00Z","list_rule":"reentry"}`)
	for _, code := range []string{"ANA", "BIA"} {
		kvtest.Create(t, w.store, record.Ticket, `{"event_id":2,"code":"`+code+`"}`)
	}
	for _, step := range []door.Attempt{{Code: "ANA"}, {Code: "BIA"}, {Code: "ANA", Way: door.Out}, {Code: "ANA"}, {Code: "ANA", LetIn: true}, {Code: "ANA", LetIn: true}, {Code: "BIA", Way: door.Out}} {
		w.clock.Move(time.Second)
		step.Event, step.At = event, w.clock.Now()
		_, err := w.store.Door.CheckInAll(auth.Operator(), []door.Attempt{step})
		w.must(err)
	}
	o := w.look("?event=2")
	if e := o.Events[0]; !e.Reentry || e.Admitted != 3 || e.Inside != 1 {
		t.Errorf("the event is told as %+v, want 3 admissions and 1 guest inside", e)
	}
	want := "Let in twice at Camp, or with a ticket that is cancelled: 2 check-ins. Nobody is turned out; look at who it was."
	if len(o.Needs) != 1 || o.Needs[0].Text != want {
		t.Errorf("it needs %+v, want %q", o.Needs, want)
	}
}
