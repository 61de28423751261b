package kv_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/erase"
	"doorward/kv/kvtest"
	"doorward/kv/laptop"
	"doorward/kv/office"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// third is the error of three results.
func third[T, U any](_ T, _ U, err error) error { return err }

// What concerns the whole store is for keys of the denomination, and what rules it for those that administer it. Each function asks by itself.
func TestWhatConcernsTheWholeStore(t *testing.T) {
	s := twoChurches(t)
	file := filepath.Join(t.TempDir(), "copy")
	type call = func(auth.Principal) error
	sees := map[string]call{
		"Verify":        func(p auth.Principal) error { return second(s.Files.Verify(p, nil)) },
		"Export":        func(p auth.Principal) error { return s.Log.Export(p, record.Church, func([]byte) error { return nil }) },
		"Replay":        func(p auth.Principal) error { return third(s.Log.Replay(p, 0, 9)) },
		"IDs":           func(p auth.Principal) error { return second(s.Desk.IDs(p, record.Church)) },
		"RecordCounts":  func(p auth.Principal) error { return second(s.Figures.RecordCounts(p)) },
		"TicketStates":  func(p auth.Principal) error { return second(s.Figures.TicketStates(p, 1)) },
		"CurrentEvents": func(p auth.Principal) error { return second(s.Door.CurrentEvents(p)) },
		"CurrentEvent":  func(p auth.Principal) error { return second(s.Door.CurrentEvent(p, 1)) },
		"EventTimes":    func(p auth.Principal) error { return second(s.Venues.EventTimes(p, 1)) },
		"Held":          func(p auth.Principal) error { return second(s.Venues.Held(p, scopes.Sort.OfEvent)) },
		"Known":         func(p auth.Principal) error { return second(s.Erasures.Recall.Known(p)) },
		"Carry": func(p auth.Principal) error {
			return s.Erasures.Recall.Carry(p, []erase.Erasure{{Kind: record.Person}})
		},
		"Join":         func(p auth.Principal) error { return s.Laptop.Join(p, table.Upstream{}, office.Credential{}) },
		"TakeLease":    func(p auth.Principal) error { return s.Laptop.TakeLease(p, office.Lease{Kind: record.Person}) },
		"LeasesWanted": func(p auth.Principal) error { return second(s.Laptop.LeasesWanted(p)) },
		"Leave": func(p auth.Principal) error {
			return second(s.Laptop.Leave(p, []string{"person:0000000000000001"}, nil))
		},
		"TakeBack":  func(p auth.Principal) error { return s.Laptop.TakeBack(p, nil) },
		"Release":   func(p auth.Principal) error { return s.Laptop.Release(p, "event-1", 9) },
		"Source":    func(p auth.Principal) error { return third(s.Laptop.Mirror.Source(p)) },
		"SetSource": func(p auth.Principal) error { return s.Laptop.Mirror.SetSource(p, laptop.MirrorSource{}) },
		"Pulled":    func(p auth.Principal) error { return second(s.Laptop.Mirror.Pulled(p, record.Church)) },
	}
	rules := map[string]call{
		"CopyTo":         func(p auth.Principal) error { return second(s.Files.CopyTo(p, file)) },
		"Compact":        func(p auth.Principal) error { return second(s.Files.Compact(t.Context(), p)) },
		"NoteBackup":     func(p auth.Principal) error { return s.Files.NoteBackup(p, file) },
		"OlderFiles":     func(p auth.Principal) error { return second(s.Files.OlderFiles(p, time.Time{})) },
		"LastVerify":     func(p auth.Principal) error { return second(s.Figures.LastVerify(p)) },
		"LastBackup":     func(p auth.Principal) error { return second(s.Figures.LastBackup(p)) },
		"LastRestore":    func(p auth.Principal) error { return second(s.Figures.LastRestore(p)) },
		"KeyExpiry":      func(p auth.Principal) error { return third(s.Keys.KeyExpiry(p)) },
		"Preview":        func(p auth.Principal) error { return second(s.Erasures.Preview(p, record.Int(1))) },
		"Erase":          func(p auth.Principal) error { return second(s.Erasures.Erase(p, record.Person, record.Int(1))) },
		"RevokeVenue":    func(p auth.Principal) error { return s.Venues.RevokeVenue(p, 1) },
		"WipeVenue":      func(p auth.Principal) error { return s.Venues.WipeVenue(p, 1) },
		"CreateDatabase": func(p auth.Principal) error { return s.Docs.CreateDatabase(p, "notes") },
		"DeleteDatabase": func(p auth.Principal) error { return s.Docs.DeleteDatabase(p, "notes") },
		"Trust":          func(p auth.Principal) error { return second(s.Tables.Clock.Trust(p)) },
		"Enrol": func(p auth.Principal) error {
			_, _, _, err := s.Venues.Enrol(p, office.Enrolment{Name: "Hall", Level: auth.Level{Name: auth.Denomination}})
			return err
		},
	}
	church, reader := kvtest.Login(t, s, "church:1", "*:*"), kvtest.Login(t, s, "denomination", "people:*", "sync:*")
	for _, calls := range []map[string]call{sees, rules} {
		for name, do := range calls {
			if err := do(church); kindOf(err) != "forbidden" {
				t.Errorf("%s by a church's key: %v, want forbidden", name, err)
			}
		}
	}
	for name, do := range rules {
		if err := do(reader); kindOf(err) != "forbidden" {
			t.Errorf("%s by a key that does not administer: %v, want forbidden", name, err)
		}
	}
	if page, err := s.Figures.Reads(reader, desk.Part{Limit: 1}); kindOf(err) != "forbidden" {
		t.Errorf("Reads without admin = %+v, %v, want forbidden", page, err)
	}
}

// What happens at a door is for keys that may use the resource of check-ins, or administer. Each function asks by itself.
func TestWhatHappensAtADoor(t *testing.T) {
	s := twoChurches(t)
	newTicket(t, s, 1, "CODE", "")
	scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "CODE"}, outcome.Admitted)
	p := kvtest.Login(t, s, "event:1", "people:*")
	for name, err := range map[string]error{
		"CheckIn":       second(s.Door.CheckIn(p, door.Attempt{Event: 1, Code: "CODE"})),
		"CheckInAll":    second(s.Door.CheckInAll(p, []door.Attempt{{Event: 1, Code: "CODE"}})),
		"Undo":          second(s.Door.Undo(p, door.Undoing{Event: 1, CheckinID: ulid.Make().String()})),
		"Status":        second(s.Door.Status(p, 1)),
		"Family":        second(s.Door.Family(p, 1, "")),
		"Known":         second(s.Door.Known(p, 1, []string{"CODE"})),
		"FindTickets":   second(s.Door.FindTickets(p, 1, nil, nil)),
		"DoubleEntries": second(s.Door.DoubleEntries(p, 1, desk.Part{Limit: 1})),
		"Reviews":       second(s.Door.Reviews(p, desk.Part{Limit: 1})),
		"DoorEvents":    second(s.Door.DoorEvents(p)),
		"DoorEvent":     second(s.Door.DoorEvent(p, 1)),
	} {
		if kindOf(err) != "forbidden" {
			t.Errorf("%s: %v, want forbidden", name, err)
		}
	}
}
