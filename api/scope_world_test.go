package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"doorward/api"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// congregation is a drawn one: of everything something, whoever it belongs to, each record with a marker in its texts.
type congregation struct {
	*site
	draw       *rand.Rand
	records    []*lore
	marked     map[string]*lore
	regionalOf map[int64]int64 // of a church
}

var markers = regexp.MustCompile(`zq\d{4}qz`)

func (r *lore) number() int64 {
	n, _ := strconv.ParseInt(r.id, 10, 64) // a fact has none
	return n
}

func (c *congregation) find(kind string, id int64) *lore {
	for _, r := range c.records {
		if r.kind == kind && r.number() == id {
			return r
		}
	}
	panic(fmt.Sprintf("no %s %d", kind, id))
}

func (c *congregation) all(kind string) (list []*lore) {
	for _, r := range c.records {
		if r.kind == kind {
			list = append(list, r)
		}
	}
	return list
}

// note makes a record known.
func (c *congregation) note(r *lore) *lore {
	c.records = append(c.records, r)
	c.marked[r.marker] = r
	return r
}

func (c *congregation) marker() string { return fmt.Sprintf("zq%04dqz", len(c.records)+1) }

// texts are the members of each kind that hold a marker.
var texts = map[string]string{
	"person": `"full_name":"%[1]s Silva","email":"%[1]s@mail.example","occupation":"%[1]s","rg_state":"%[1]s","external_id":"%[1]s"`,
	"event":  `"name":"%[1]s","description":"%[1]s","event_url":"%[1]s","external_id":"%[1]s","start_datetime":"2026-01-01T10:00:00Z"`,
	"financial_entry": `"description":"%[1]s","transaction_type":"%[1]s","base_amount":"10.00","external_id":"%[1]s",` +
		`"attachments":[{"id":1,"name":"%[1]s","content_type":"x","size":1,"url":"https://x.example/%[1]s","created_at":null}]`,
	"supplier": `"name":"%[1]s","document":"%[1]s","external_id":"%[1]s"`, "membership": `"external_id":"%[1]s"`,
	"ticket": `"holder_name":"%[1]s","email":"%[1]s@mail.example","type":"%[1]s","order":"%[1]s","code":"%[1]s","external_id":"%[1]s"`,
}

// add makes a record that names others, 0 for none.
func (c *congregation) add(k *record.Kind, refs map[string]int64, more ...string) *lore {
	c.Helper()
	r := &lore{kind: k.Name, marker: c.marker(), refs: refs}
	form, ok := texts[k.Name]
	if !ok {
		form = `"name":"%[1]s","external_id":"%[1]s"`
	}
	members := append([]string{fmt.Sprintf(form, r.marker)}, more...)
	for name, id := range refs {
		if id != 0 {
			members = append(members, fmt.Sprintf("%q:%d", name, id))
		}
	}
	r.id = strconv.FormatInt(c.create(k, "{"+strings.Join(members, ",")+"}"), 10)
	if k == record.Ticket {
		r.code = r.marker
	}
	return c.note(r)
}

// some draws a few ids of a kind as a JSON list.
func (c *congregation) some(name, kind string) string {
	var ids []string
	for _, r := range c.all(kind) {
		if c.draw.IntN(2) == 0 {
			ids = append(ids, r.id)
		}
	}
	return fmt.Sprintf("%q:[%s]", name, strings.Join(ids, ","))
}

// one draws an id of a kind.
func (c *congregation) one(kind string) int64 {
	list := c.all(kind)
	return list[c.draw.IntN(len(list))].number()
}

func drawCongregation(t testing.TB, seed uint64, configure ...func(*api.Config)) *congregation {
	c := &congregation{site: newSite(t, configure...), draw: rand.New(rand.NewPCG(seed, 7)), marked: map[string]*lore{}, regionalOf: map[int64]int64{}}
	c.drawReference()
	homes := []int64{0}
	for _, church := range c.all("church") {
		homes = append(homes, church.number())
	}
	for _, home := range homes {
		church := map[string]int64{"church_id": home}
		for range 1 + c.draw.IntN(2) {
			c.add(record.Person, church, c.some("role_ids", "role"))
		}
		c.add(record.Group, church)
		for range 1 + c.draw.IntN(2) {
			c.add(record.Event, map[string]int64{"church_id": home, "regional_id": c.one("regional")})
		}
	}
	for _, home := range homes[1:] {
		refs := map[string]int64{"church_id": home}
		for _, kind := range []string{"financial_account", "supplier", "category", "subcategory", "cost_center", "business_unit"} {
			refs[kind+"_id"] = c.one(kind)
		}
		c.add(record.FinancialEntry, refs, c.some("small_group_ids", "group"))
	}
	c.drawMembers()
	c.drawDoors()
	c.drawMatters()
	return c
}

// drawReference makes what everybody refers to.
func (c *congregation) drawReference() {
	c.add(record.Regional, nil)
	c.add(record.Regional, nil)
	for _, regional := range []int64{1, 2, 1, 0} {
		church := c.add(record.Church, map[string]int64{"regional_id": regional})
		c.regionalOf[church.number()] = regional
	}
	for _, k := range []*record.Kind{record.Role, record.FinancialAccount, record.Supplier, record.Category, record.CostCenter, record.BusinessUnit} {
		c.add(k, nil)
		c.add(k, nil)
	}
	c.add(record.Subcategory, map[string]int64{"category_id": c.one("category")})
}

// drawMembers puts people into groups, those of other churches too.
func (c *congregation) drawMembers() {
	for _, person := range c.all("person") {
		for _, group := range c.all("group") {
			if c.draw.IntN(4) == 0 {
				c.add(record.Membership, map[string]int64{"person": person.number(), "group_id": group.number()})
			}
		}
	}
}

// drawDoors makes tickets, admits some, refuses some and takes some back; and keys of some levels.
func (c *congregation) drawDoors() {
	w := c.wire()
	door := func(event, ticket *lore, kind, path, body string) {
		fact := &lore{kind: kind, marker: c.marker(), refs: map[string]int64{"event_id": event.number()}}
		fact.refs["ticket_id"] = ticket.number()
		a := w.ask("POST", "/door/v1/event/"+event.id+"/"+path+"/", strings.ReplaceAll(body, "MARKER", fact.marker), "X-Door", fact.marker)
		c.status(a, 200)
		fact.id = a.text(c, "checkin_id")
		if kind != "checkin" {
			fact.id = listed(c, w.ask("GET", "/admin/v1/"+kind+"/?limit=100", ""))[fact.marker]
		}
		c.note(fact)
	}
	for _, event := range c.all("event") {
		for range 2 {
			t := c.add(record.Ticket, map[string]int64{"event_id": event.number(), "person_id": c.one("person")})
			door(event, t, "checkin", "scan", fmt.Sprintf(`{"code":%q}`, t.code))
			checkin := c.records[len(c.records)-1]
			if c.draw.IntN(2) == 0 {
				door(event, t, "scan", "scan", fmt.Sprintf(`{"code":%q}`, t.code))
				c.again(event, t)
			} else {
				door(event, t, "undo", "undo", fmt.Sprintf(`{"checkin_id":%q,"reason":"MARKER"}`, checkin.id))
			}
		}
		c.add(record.Ticket, map[string]int64{"event_id": event.number()}) // nobody has brought it
	}
	for _, v := range c.reaches() {
		c.addKey(v)
	}
	for _, church := range c.all("church") {
		r := &lore{kind: "person", marker: c.marker(), refs: map[string]int64{"church_id": church.number()}}
		r.body = fmt.Sprintf(`{"full_name":%q,"church_id":%s}`, r.marker, church.id)
		r.id = c.status(w.ask("POST", "/v1/people/", r.body, "Idempotency-Key", r.marker), 201).text(c, "id")
		c.note(r)
	}
}

// again lets a ticket that is in be let in again, by a scanner that is offline.
func (c *congregation) again(event, ticket *lore) {
	fact := &lore{kind: "checkin", marker: c.marker(), refs: map[string]int64{"event_id": event.number(), "ticket_id": ticket.number()}}
	body := fmt.Sprintf(`{"scans":[{"code":%q,"at":"2026-01-01T10:00:00Z","let_in":true,"door":%q}]}`, ticket.code, fact.marker)
	fact.id = c.status(c.wire().ask("POST", "/door/v1/event/"+event.id+"/scans/", body), 200).text(c, "results.0.double_entry_id")
	c.note(fact)
	double := *fact
	double.kind = "double_entries"
	c.records = append(c.records, &double)
}

// listed are the ids of a list's facts by their doors.
func listed(t testing.TB, a answer) map[string]string {
	var page struct{ Results []struct{ ID, Door string } }
	if err := json.Unmarshal([]byte(a.body), &page); err != nil {
		t.Fatalf("list = %s", a.body)
	}
	ids := map[string]string{}
	for _, r := range page.Results {
		ids[r.Door] = r.ID
	}
	return ids
}

// reaches are levels of every sort.
func (c *congregation) reaches() []reach {
	events := c.all("event")
	homed, open := events[len(events)-1].number(), events[0].number() // those without a church come first
	return []reach{
		{"denomination", nil}, {"regional", []int64{1}}, {"church", []int64{1}}, {"church", []int64{2, 4}},
		{"event", []int64{homed}}, {"event", []int64{open, c.all("event")[2].number()}},
	}
}

// addKey makes a key with a marker in its name.
func (c *congregation) addKey(v reach) {
	marker := c.marker()
	a := c.status(c.wire().ask("POST", "/admin/v1/keys/", fmt.Sprintf(`{"name":%q,"level":%q,"permissions":["*:GET"]}`, marker, v)), 201)
	c.note(&lore{kind: "api_key", id: a.text(c, "id"), marker: marker, reach: v})
}

// caller is a key over HTTP, and what it may.
type caller struct {
	*wire
	reach       reach
	permissions []string
}

func (c *congregation) caller(v reach, permissions ...string) *caller {
	c.Helper()
	w := c.wire()
	w.auth[0], w.auth[1] = kvtest.Key(c, c.store, v.String(), permissions...)
	return &caller{w, v, permissions}
}
