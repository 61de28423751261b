package kv_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestScopesShowWhatIsTheirs draws what happens to records, with restarts, and compares every scope's feed, list and counts with
// a plain model.
func TestScopesShowWhatIsTheirs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		c := kv.Config{Dir: t.TempDir()}
		s := reopenable(t, c)
		m := &scopesModel{feeds: map[string][]feedRow{}, records: map[string]*modelRecord{}}
		for i, k := range []*record.Kind{record.Role, record.Church, record.Church, record.Church} {
			made, err := s.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: k}, kvtest.Parse(r, k, `{"name":"N"}`, true))
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				m.written(k, made.ID.Int(), 0, false)
			}
		}
		for n := range rapid.IntRange(1, 40).Draw(r, "steps") {
			m.step(r, s, n)
			if rapid.IntRange(0, 9).Draw(r, "restart") == 0 {
				closed(t, s)
				s = reopenable(t, c)
			}
		}
		m.check(r, s)
		if report, err := s.Files.Verify(auth.Operator(), nil); err != nil || report.Damaged > 0 {
			r.Errorf("Verify = %+v, %v", report, err)
		}
		closed(t, s)
	})
}

func (m *scopesModel) change(t *rapid.T, s *kv.Store, person, church int64, body string) {
	if person == 0 {
		return
	}
	if _, err := s.Desk.Update(auth.Operator(), target(record.Person, person), kvtest.Parse(t, record.Person, body, false)); err != nil {
		t.Fatal(err)
	}
	if m.records[record.Person.DocID(record.Int(person))].home == church {
		m.written(record.Person, person, church, false)
	} else {
		m.moved(person, church)
	}
}

func (m *scopesModel) delete(t *rapid.T, s *kv.Store, k *record.Kind, some func(*record.Kind) int64) {
	id := some(k)
	if id == 0 {
		return
	}
	err := s.Desk.Delete(auth.Operator(), target(k, id))
	if errors.Is(err, table.ErrConflict) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	parts := []*record.Kind{k}
	if k == record.Ticket {
		parts = []*record.Kind{record.Ticket, record.TicketCode}
	}
	for _, part := range parts {
		m.written(part, id, m.records[part.DocID(record.Int(id))].home, true)
	}
}
