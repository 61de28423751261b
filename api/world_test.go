package api_test

import (
	"fmt"
	"testing"

	"doorward/api"
	"doorward/kv/record"
)

// world is a small congregation: two regionals, three churches, and something of everything in the first.
type world struct {
	*site
	regional, otherRegional    int64
	church, sister, far        int64 // sister is of the same regional, far of the other one
	account, supplier          int64
	category, subcategory      int64
	group, openGroup, farGroup int64 // openGroup has no church
	person, farPerson, nomad   int64 // nomad has no church
	event, farEvent, openEvent int64
	entry, farEntry            int64
}

func newWorld(t testing.TB, configure ...func(*api.Config)) *world {
	t.Helper()
	return settle(newSite(t, configure...))
}

// settle fills an empty site.
func settle(s *site) *world {
	s.Helper()
	w := &world{site: s}
	w.regional, w.otherRegional = s.create(record.Regional, `{"name":"North"}`), s.create(record.Regional, `{"name":"South"}`)
	church := func(name string, regional int64) int64 {
		return s.create(record.Church, fmt.Sprintf(`{"name":%q,"regional_id":%d}`, name, regional))
	}
	w.church, w.sister, w.far = church("Centre", w.regional), church("Hill", w.regional), church("Coast", w.otherRegional)
	w.account = s.create(record.FinancialAccount, `{"name":"Bank","currency":"BRL"}`)
	w.supplier = s.create(record.Supplier, `{"name":"Paper Ltd","document":"123"}`)
	w.category = s.create(record.Category, `{"name":"Office"}`)
	w.subcategory = s.create(record.Subcategory, fmt.Sprintf(`{"name":"Paper","category_id":%d}`, w.category))
	in := func(k *record.Kind, name, value string, church int64) int64 {
		if church == 0 {
			return s.create(k, fmt.Sprintf(`{%q:%q}`, name, value))
		}
		return s.create(k, fmt.Sprintf(`{%q:%q,"church_id":%d}`, name, value, church))
	}
	w.group, w.openGroup, w.farGroup = in(record.Group, "name", "Choir", w.church), in(record.Group, "name", "All", 0), in(record.Group, "name", "Surf", w.far)
	w.person, w.farPerson, w.nomad = in(record.Person, "full_name", "Ana Souza", w.church), in(record.Person, "full_name", "Bia Lima", w.far), in(record.Person, "full_name", "Noa", 0)
	event := func(church int64) int64 { return in(record.Event, "start_datetime", "2030-05-01T12:00:00Z", church) }
	w.event, w.farEvent, w.openEvent = event(w.church), event(w.far), event(0)
	w.entry, w.farEntry = s.create(record.FinancialEntry, w.entryOf(w.church)), s.create(record.FinancialEntry, w.entryOf(w.far))
	return w
}

// entryOf is the smallest financial entry of a church.
func (w *world) entryOf(church int64) string {
	return fmt.Sprintf(`{"transaction_type":"income","financial_account_id":%d,"base_amount":"10.00","church_id":%d,"supplier_id":%d}`,
		w.account, church, w.supplier)
}

// ticket makes a ticket of an event, with further members of its form.
func (w *world) ticket(event int64, code, members string) int64 {
	w.Helper()
	if members != "" {
		members = "," + members
	}
	return w.create(record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":%q,"holder_name":"Ana Souza"%s}`, event, code, members))
}

// Paths of single records.
func personPath(id int64) string  { return fmt.Sprintf("/v1/people/%d/", id) }
func entryPath(id int64) string   { return fmt.Sprintf("/v1/financial_entries/%d/", id) }
func eventPath(id int64) string   { return fmt.Sprintf("/v1/event/%d/", id) }
func groupPath(id int64) string   { return fmt.Sprintf("/v1/group/%d/", id) }
func membersPath(id int64) string { return fmt.Sprintf("/v1/group/%d/memberships/", id) }
func checkinPath(id int64) string { return fmt.Sprintf("/v1/event/%d/checkin/", id) }

func adminPath(kind string, id int64) string { return fmt.Sprintf("/admin/v1/%s/%d/", kind, id) }
