package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"doorward/api"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
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

// thisSecond is the time of a scan that is handed in at once.
func thisSecond() string { return time.Now().UTC().Format(time.RFC3339) }

// again lets a ticket that is in be let in again, by a scanner that is offline.
func (c *congregation) again(event, ticket *lore) {
	fact := &lore{kind: "checkin", marker: c.marker(), refs: map[string]int64{"event_id": event.number(), "ticket_id": ticket.number()}}
	body := fmt.Sprintf(`{"scans":[{"code":%q,"at":%q,"let_in":true,"door":%q}]}`, ticket.code, thisSecond(), fact.marker)
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

// This file says once more who may see and do what (contract.md §7 and §12), in the plainest way, without a look at how the store
// decides it.

// lore is what the test knows of a record.
type lore struct {
	kind   string
	id     string
	marker string           // a word that stands in each of its texts, and nowhere else
	refs   map[string]int64 // whom it names
	code   string           // of a ticket
	reach  reach            // of a key
	tag    string           // its ETag on the admin surface, once it has been asked for
	body   string           // of a person that was made with the marker for an Idempotency-Key
}

// reach is a level.
type reach struct {
	name string
	ids  []int64
}

func (v reach) String() string {
	if len(v.ids) == 0 {
		return v.name
	}
	return v.name + ":" + strings.Trim(strings.ReplaceAll(fmt.Sprint(v.ids), " ", ","), "[]")
}

func (v reach) whole() bool { return v.name == "denomination" }

// classOf are the kinds by the rule that they are seen by.
var classOf = map[string]string{
	"church": "everyone's", "regional": "everyone's", "role": "everyone's",
	"financial_account": "finances", "supplier": "finances", "category": "finances", "subcategory": "finances",
	"cost_center": "finances", "business_unit": "finances",
	"person": "church's", "financial_entry": "church's", "event": "shared", "group": "shared", "membership": "membership",
	"ticket": "event's", "checkin": "event's", "scan": "event's", "undo": "event's", "double_entries": "event's", "api_key": "key",
	"conflicts": "church's", "refusals": "church's", "conflict": "key", "refusal": "key", "node": "key", "venues": "key", "erasure": "key", "reads": "key", "reviews": "event's",
}

// owns tells whether a church is one of a level's.
func (c *congregation) owns(v reach, church int64) bool {
	switch v.name {
	case "denomination":
		return true
	case "church":
		return slices.Contains(v.ids, church)
	case "regional":
		return church != 0 && slices.Contains(v.ids, c.regionalOf[church])
	}
	return false
}

// sees tells whether a level's keys may be shown a record.
func (c *congregation) sees(v reach, r *lore) bool {
	atEvent := v.name == "event"
	switch classOf[r.kind] {
	case "everyone's":
		return true
	case "finances":
		return !atEvent
	case "church's":
		return v.whole() || c.owns(v, r.refs["church_id"])
	case "shared":
		if atEvent {
			return r.kind == "event" && slices.Contains(v.ids, r.number())
		}
		return r.refs["church_id"] == 0 || c.owns(v, r.refs["church_id"])
	case "membership":
		return c.sees(v, c.find("person", r.refs["person"])) && c.sees(v, c.find("group", r.refs["group_id"]))
	case "event's":
		return c.sees(v, c.find("event", r.refs["event_id"]))
	case "key":
		return c.within(v, r.reach)
	}
	panic("no class for " + r.kind)
}

// within tells whether everything that one level sees, another sees too.
func (c *congregation) within(v, part reach) bool {
	levels := []string{"denomination", "regional", "church", "event"}
	switch {
	case v.whole():
		return true
	case slices.Index(levels, part.name) < slices.Index(levels, v.name):
		return false
	}
	for _, id := range part.ids {
		switch {
		case part.name == v.name && !slices.Contains(v.ids, id):
			return false
		case part.name == v.name:
		case part.name == "church" && !c.owns(v, id):
			return false
		case part.name == "event" && !c.owns(v, c.find("event", id).refs["church_id"]):
			return false
		}
	}
	return true
}

// changes tells whether a level's keys may change a record that they see.
func (c *congregation) changes(v reach, r *lore) bool {
	switch classOf[r.kind] {
	case "church's", "membership":
		return true
	case "shared":
		return v.whole() || v.name != "event" && r.refs["church_id"] != 0
	case "event's":
		return v.whole() || v.name == "event" || c.find("event", r.refs["event_id"]).refs["church_id"] != 0
	}
	return v.whole()
}

// may tells whether permissions allow a method on a resource; "" is a resource that needs none.
func may(permissions []string, resource, method string) bool {
	if resource == "" {
		return true
	}
	if len(permissions) == 0 {
		return resource != "admin"
	}
	return slices.ContainsFunc(permissions, func(p string) bool {
		r, m, _ := strings.Cut(p, ":")
		return (r == "*" || r == resource) && (m == "*" || m == method)
	})
}

// spot is one method on one path of the document.
type spot struct {
	method, path string
	kind         string // that its path names, or is about
	named        bool   // the path names a record
	under        bool   // the route goes on below that record
}

// readSpot reads a path of the document; ok is false for pages that are open to all.
func readSpot(method, path string) (s spot, ok bool) {
	s = spot{method: method, path: path, named: strings.Contains(path, "{")}
	segments := strings.Split(strings.Trim(path, "/"), "/")
	s.under = s.named && !strings.HasPrefix(segments[len(segments)-1], "{")
	switch segments[0] {
	case "v1":
		s.kind = map[string]string{"people": "person", "financial_entries": "financial_entry", "event": "event", "group": "group"}[segments[1]]
	case "door":
		if strings.HasSuffix(path, "/stream/") || strings.HasSuffix(path, "/family/") { // one does not end, the other is about a check-in: see board_test.go
			return s, false
		}
		switch s.kind = "event"; segments[2] {
		case "decode":
			s.kind = "decode"
		case "session": // who asks, not about what
			return s, false
		}
	case "admin":
		s.kind = segments[2]
		if s.kind == "keys" {
			s.kind = "api_key"
		}
	default:
		return s, false
	}
	return s, true
}

// resource is what a permission for the spot names.
func (s spot) resource() string {
	switch {
	case strings.HasPrefix(s.path, "/door/"), strings.HasSuffix(s.path, "/checkin/") && s.under:
		return "checkin"
	case strings.HasSuffix(s.path, "/memberships/"):
		return "memberships"
	case strings.HasPrefix(s.path, "/v1/people/"):
		return "people"
	case strings.HasPrefix(s.path, "/v1/"):
		return strings.Split(s.path, "/")[2]
	case s.method == "GET" && classOf[s.kind] == "everyone's":
		return ""
	}
	return "admin"
}

// atDoor tells what doors are shown of an event.
func (s spot) atDoor() bool { return strings.HasPrefix(s.path, "/door/") }

// at is the spot's path with an id, and with what a search cannot do without.
func (s spot) at(id string) string {
	before, after, _ := strings.Cut(s.path, "{")
	_, after, found := strings.Cut(after, "}")
	switch {
	case !found:
		return before
	case s.searches():
		after += "?q=nobody"
	}
	return before + id + after
}

// searches tells the door's search.
func (s spot) searches() bool { return strings.HasSuffix(s.path, "/search/") }

// aFile tells a route whose body is a file.
func (s spot) aFile() bool { return s.kind == "import" || s.kind == "decode" }

// want is the status of a request about a record, nil for one that is not there, with a body that only a PATCH takes.
func (c *congregation) want(v reach, permissions []string, s spot, r *lore) int {
	reference := classOf[s.kind] == "everyone's" || classOf[s.kind] == "finances"
	system := s.kind == "api_key" && strings.HasPrefix(s.path, "/admin/v1/api_key/")
	switch {
	case !may(permissions, s.resource(), s.method), s.method != "GET" && reference && !v.whole():
		return 403
	case s.method == "POST" && !s.named && v.name == "event" && classOf[s.kind] != "event's" && s.kind != "api_key" && !s.aFile():
		return 403
	case s.named && (r == nil || !c.sees(v, r) || system && !v.whole()):
		return 404
	case s.method == "PATCH" && !c.changes(v, r):
		return 403
	case s.method == "POST":
		return 400
	}
	return 200
}

// drawMatters leaves for staff, of each church, a conflict and a refusal: replicas have given one person two occupations, and a key
// has pushed what it may not.
func (c *congregation) drawMatters() {
	for _, person := range c.all("person") {
		home := person.refs["church_id"]
		if home == 0 || person.body != "" {
			continue
		}
		c.drawConflict(person, home)
		c.drawRefusal(home)
	}
}

// drawConflict merges two branches of a person.
func (c *congregation) drawConflict(person *lore, home int64) {
	marker := c.marker()
	db := c.database(auth.Operator(), home)
	id := record.Person.DocID(record.Int(person.number()))
	doc, err := db.Read(id, docs.Ask{})
	if err != nil {
		c.Fatal(err)
	}
	was := doc.Revisions[0]
	for i, occupation := range []string{marker, marker + " too"} {
		body := strings.Replace(string(was.Body), fmt.Sprintf(`"occupation":%q`, person.marker), fmt.Sprintf(`"occupation":%q`, occupation), 1)
		revision2 := rev.ID{Generation: was.Revision.Generation + 1, Hash: [16]byte{byte(i + 1)}}
		w := merge.DocWrite{ID: id, Path: append([]rev.ID{revision2}, doc.Tree.Path(was.Revision)...), Body: []byte(body)}
		if results, err := db.Write([]merge.DocWrite{w}); err != nil || results[0].Err != nil {
			c.Fatal(err, results[0].Err)
		}
	}
	c.noteMatter("conflict", marker, home)
}

// drawRefusal pushes a document that is refused.
func (c *congregation) drawRefusal(home int64) {
	marker := c.marker()
	p := kvtest.Login(c, c.store, fmt.Sprintf("church:%d", home), "sync:*", "people:*", "group:GET", "memberships:GET", "event:GET")
	w := merge.DocWrite{ID: "person:0000000000009000", Path: []rev.ID{{Generation: 1, Hash: [16]byte{1}}},
		Body: fmt.Appendf(nil, `{"full_name":%q,"church_id":%d}`, marker, home)}
	if results, err := c.database(p, home).Write([]merge.DocWrite{w}); err != nil || results[0].Err == nil {
		c.Fatal("the push is not refused", err)
	}
	c.noteMatter("refusal", marker, home)
}

func (c *congregation) database(p auth.Principal, home int64) *docs.Database {
	db, err := c.store.Docs.Database(p, fmt.Sprintf("church-%d", home))
	if err != nil {
		c.Fatal(err)
	}
	return db
}

// noteMatter makes what was left known: staff's list of it, and the bare records, which are for denomination level.
func (c *congregation) noteMatter(kind, marker string, home int64) {
	k, _ := record.ByName(kind)
	page, err := c.store.Inbox.List(auth.Operator(), k, desk.Part{Limit: 1000})
	if err != nil {
		c.Fatal(err)
	}
	for _, r := range page.Items {
		if !strings.Contains(string(r.JSON), marker) {
			continue
		}
		listed := c.note(&lore{kind: kind + "s", id: k.FormatID(r.ID), marker: marker, refs: map[string]int64{"church_id": home}})
		bare := *listed
		bare.kind, bare.reach = kind, reach{name: "denomination"}
		c.records = append(c.records, &bare)
	}
}
