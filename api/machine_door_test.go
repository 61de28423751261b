package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// reading is a code that is read at a door.
type reading struct {
	k     *machineKey
	event int64
	code  string // "" stands for one that no ticket has
	nonce string
	letIn bool
	day   int  // that it was read on, from today
	page  bool // a helper asks, not /v1
}

// believedRuling is what must be decided; found is the check-in that it names.
type believedRuling struct {
	outcome  string // "reused" = the nonce came with another code
	found    *posting
	replayed bool
	fresh    *posting // the check-in that is written, whose id the answer tells
}

// reading draws one of an event.
func (m *machine) reading() reading {
	r := reading{k: m.anyKey(), event: 1 << 30}
	if events := slices.Sorted(maps.Keys(m.items["event"])); len(events) > 0 && !m.chance(20, "no event") {
		r.event = one(m, "event", events...)
	}
	if m.chance(2, "door key") {
		r.k = m.keys[len(m.keys)-1-one(m, "which", 0, 1)]
	}
	if !m.chance(15, "unknown") {
		r.code = m.code(one(m, "code", 0, 0, 1, 1, 2, 3, 4))
	}
	if m.chance(3, "nonced") {
		r.nonce = one(m, "nonce", "n1", "n2", "n3")
	}
	return r
}

func (r reading) text() string {
	if r.code == "" {
		return "NOBODY-HAS-THIS"
	}
	return r.code
}

// entered refuses who may not, or whose event it is not: the status, or 0.
func (m *machine) entered(k *machineKey, method string, event int64) int {
	switch {
	case k.revoked:
		return 401
	case !may(k.permissions, "checkin", method):
		return 403
	case !m.sees(k.reach, m.items["event"][event]):
		return 404
	}
	return 0
}

// handInLasts is how long the phone of a revoked key hands in what it has kept.
const handInLasts = 10 * time.Minute

// handsIn tells that a revoked key may hand in scans of an event, and notes when it has begun to.
func (m *machine) handsIn(k *machineKey, event int64) bool {
	if !k.revoked || k.reach.name != "event" || !slices.Contains(k.reach.ids, event) || !may(k.permissions, "checkin", "POST") {
		return false
	}
	if k.handingIn.IsZero() {
		k.handingIn = m.now()
	}
	return m.now().Sub(k.handingIn) <= handInLasts
}

// atDoor asks at an event's door; ok tells that it had to be answered, not refused.
func (m *machine) atDoor(r reading, method, path, body string, headers ...string) (a answer, ok bool) {
	a = m.ask(r.k, method, path, body, headers...)
	if status := m.entered(r.k, method, r.event); status != 0 {
		m.want(a, status)
		return a, false
	}
	return a, true
}

func (m *machine) ticketOf(event int64, code string) *believed {
	for _, b := range m.items["ticket"] {
		if b.number("event_id") == event && b.fields["code"] == fmt.Sprintf("%q", code) {
			return b
		}
	}
	return nil
}

// rule decides a reading as the contract does: nonce, code, validity, then duplication.
func (m *machine) rule(r reading) believedRuling {
	ticket, event := m.ticketOf(r.event, r.code), m.items["event"][r.event]
	if before := m.nonces[nonce{r.k.id, r.event, r.nonce}]; r.nonce != "" && before != nil {
		if before.code != r.code {
			return believedRuling{outcome: "reused"}
		}
		if !before.undone {
			return believedRuling{outcome: "admitted", found: before, replayed: true}
		}
	}
	m.touched[r.event] = true
	if ticket == nil {
		for _, b := range m.items["ticket"] {
			if b.fields["code"] == fmt.Sprintf("%q", r.code) && (m.sees(r.k.reach, b) || r.page && m.ofOneChurch(event, b)) {
				return m.refused(r, 0, "wrong_event")
			}
		}
		return m.refused(r, 0, "unknown_code")
	}
	if event.fields["active"] != "true" || event.fields["enabled"] != "true" {
		return m.refused(r, ticket.id, "event_closed")
	}
	if state := strings.Trim(ticket.fields["state"], `"`); state != "valid" {
		return m.refused(r, ticket.id, state)
	}
	e := m.posted(r, ticket.id)
	first := m.first(e)
	if first == nil {
		return believedRuling{outcome: "admitted", fresh: e}
	}
	if !r.letIn {
		e = nil
	}
	return believedRuling{outcome: "already_admitted", found: first, fresh: e}
}

// posted is a check-in of a reading, on the list of its day.
func (m *machine) posted(r reading, ticket int64) *posting {
	e := &posting{event: r.event, ticket: ticket, code: r.code}
	if m.items["event"][r.event].fields["list_rule"] == `"daily"` {
		day := m.now().AddDate(0, 0, min(0, r.day)) // nobody takes tomorrow's
		if day.Before(r.k.made) {
			day = r.k.made // nor that of a day before the key was made
		}
		e.list = day.Add(-4 * time.Hour).Format("2006-01-02")
	}
	return e
}

// refused is a refusal. A guest who was let in is written down.
func (m *machine) refused(r reading, ticket int64, verdict string) believedRuling {
	is := believedRuling{outcome: verdict}
	if r.letIn {
		is.fresh = m.posted(r, ticket)
		is.fresh.verdict, is.fresh.waits = verdict, r.k.revoked
	}
	return is
}

// ofOneChurch reports whether the event of a ticket has the same church as another event.
func (m *machine) ofOneChurch(event, ticket *believed) bool {
	other := m.items["event"][ticket.number("event_id")]
	church := event.fields["church_id"]
	return church != "" && church != "null" && other != nil && other.fields["church_id"] == church
}

// first is the first check-in of an entry's code and list that stands.
func (m *machine) first(e *posting) *posting {
	for _, other := range m.entries {
		if other.event == e.event && other.code == e.code && other.list == e.list && !other.undone && !other.waits {
			return other
		}
	}
	return nil
}

// told holds an answer against what must be decided, and notes a new check-in.
func (m *machine) told(r reading, want believedRuling, outcome, id string, replayed bool) {
	if outcome != want.outcome || replayed != want.replayed || want.found != nil && id != want.found.id {
		m.Fatalf("%s at event %d was answered %s by %s (replayed %v), want %+v", r.text(), r.event, outcome, id, replayed, want)
	}
	if want.fresh != nil && want.found == nil {
		m.enter(r, want.fresh, id)
	}
}

func (m *machine) enter(r reading, e *posting, id string) {
	if id == "" || slices.ContainsFunc(m.entries, func(o *posting) bool { return o.id == id }) {
		m.Fatalf("a new check-in has the id %q", id)
	}
	e.id = id
	m.entries = append(m.entries, e)
	if r.nonce != "" {
		m.nonces[nonce{r.k.id, r.event, r.nonce}] = e
	}
}

// scanOne brings a code to /v1 or to /door.
func (m *machine) scanOne() {
	r := m.reading()
	path := checkinPath(r.event)
	if m.chance(2, "door") {
		path, r.page = fmt.Sprintf("/door/v1/event/%d/scan/", r.event), true
	}
	var headers []string
	if r.nonce != "" {
		headers = []string{"Idempotency-Key", r.nonce}
	}
	a, ok := m.atDoor(r, "POST", path, fmt.Sprintf(`{"code":%q}`, r.text()), headers...)
	if !ok {
		return
	}
	want := m.rule(r)
	if want.outcome == "reused" {
		m.want(a, 422)
		return
	}
	status := 200
	if path == checkinPath(r.event) {
		status = map[string]int{"admitted": 204, "already_admitted": 409, "unknown_code": 404, "wrong_event": 404}[want.outcome]
		if status == 0 {
			status = 422
		}
	}
	m.want(a, status)
	d := readDecided(a)
	if status == 404 || status == 422 {
		d.outcome = a.text(m.home, "error.details.outcome")
	}
	m.told(r, want, d.outcome, d.id, d.replayed)
}

// scanSome hands in what an offline scanner has read.
func (m *machine) scanSome() {
	first := m.reading()
	var list []reading
	var bodies []string
	for range one(m, "scans", 1, 2, 4) {
		r := m.reading()
		r.k, r.event, r.letIn, r.day, r.page = first.k, first.event, m.chance(2, "let in"), one(m, "day", 0, 0, -1, 1), true
		if r.letIn {
			r.nonce = ""
		}
		list = append(list, r)
		bodies = append(bodies, fmt.Sprintf(`{"code":%q,"at":%q,"nonce":%q,"let_in":%v}`,
			r.text(), m.now().AddDate(0, 0, r.day).Format(time.RFC3339), r.nonce, r.letIn))
	}
	path, body := fmt.Sprintf("/door/v1/event/%d/scans/", first.event), `{"scans":[`+strings.Join(bodies, ",")+`]}`
	var a answer
	handsIn := m.handsIn(first.k, first.event)
	if handsIn {
		a = m.ask(first.k, "POST", path, body)
	} else {
		var ok bool
		if a, ok = m.atDoor(first, "POST", path, body); !ok {
			return
		}
	}
	m.want(a, 200)
	var told struct {
		Results []struct {
			Outcome   string
			CheckinID string `json:"checkin_id"`
			Double    string `json:"double_entry_id"`
			Replayed  bool
			Error     *struct{ Code string }
		}
	}
	if err := json.Unmarshal([]byte(a.body), &told); err != nil || len(told.Results) != len(list) {
		m.Fatalf("%d scans are answered %s", len(list), a.body)
	}
	for i, r := range list {
		is := told.Results[i]
		if handsIn && !r.letIn {
			if is.Error == nil || is.Error.Code != "UNAUTHORIZED" {
				m.Fatalf("a revoked key is told %+v of a scan that waits for a decision", is)
			}
			continue
		}
		want := m.rule(r)
		if is.Error != nil {
			is.Outcome = map[string]string{"UNPROCESSABLE_ENTITY": "reused"}[is.Error.Code]
		}
		m.told(r, want, is.Outcome, is.CheckinID, is.Replayed)
		if double := want.found != nil && want.fresh != nil; double {
			m.enter(r, want.fresh, is.Double)
		} else if (want.fresh != nil && want.fresh.verdict != "") != (is.Double != "") || is.Double != "" && is.Double != is.CheckinID {
			m.Fatalf("a scan is a double entry: %s", a.body)
		}
	}
}

// undoOne takes a check-in back, perhaps one that is not there.
func (m *machine) undoOne() {
	r := m.reading()
	id := "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	if len(m.entries) > 0 {
		e := one(m, "entry", m.entries...)
		if id = e.id; !m.chance(6, "another event") {
			r.event = e.event
		}
	}
	path, body := fmt.Sprintf("/door/v1/event/%d/undo/", r.event), fmt.Sprintf(`{"checkin_id":%q}`, id)
	var headers []string
	if r.nonce != "" {
		headers = []string{"Idempotency-Key", r.nonce}
	}
	a := m.ask(r.k, "POST", path, body, headers...)
	name := fmt.Sprintf("%d POST %s %s", r.k.id, path, r.nonce)
	before, known := m.kept[name]
	known = known && r.nonce != "" && m.now().Before(before.at.Add(answersKept))
	i := slices.IndexFunc(m.entries, func(e *posting) bool { return e.id == id && e.event == r.event && !e.undone })
	switch status := m.entered(r.k, "POST", r.event); {
	case status != 0:
		m.want(a, status)
	case known && before.sent != body:
		m.want(a, 422)
	case known, i >= 0:
		m.want(a, 200)
		if again := a.header.Get("Idempotency-Replayed") == "true"; again != known || a.text(m.home, "outcome") != "undone" || a.text(m.home, "checkin_id") != id {
			m.Fatalf("an undo (known %v) is answered %s", known, a.body)
		}
		if !known {
			m.entries[i].undone = true
		}
		if r.nonce != "" && !known {
			m.kept[name] = keptAnswer{sent: body, at: m.now()}
		}
	default:
		m.want(a, 404)
	}
}

// doubled counts an event's check-ins that were not undone: how many admitted a guest and how many a phone let in. It lists the double
// entries among them. A guest whose ticket was cancelled after the check-in is counted and listed, as is one that a phone let in.
func (m *machine) doubled(event int64) (admitted, letIn int, doubles []string) {
	for _, e := range m.entries {
		if e.event != event || e.undone || e.waits {
			continue
		}
		if e.verdict != "" {
			letIn++
			doubles = append(doubles, e.id)
			continue
		}
		first := m.first(e) == e
		if !first || m.items["ticket"][e.ticket].fields["state"] == `"cancelled"` {
			doubles = append(doubles, e.id)
		}
		if first {
			admitted++
		}
	}
	return admitted, letIn, doubles
}

// status reads an event's counts.
func (m *machine) status() {
	r := m.reading()
	a, ok := m.atDoor(r, "GET", fmt.Sprintf("/door/v1/event/%d/status/", r.event), "")
	if !ok {
		return
	}
	m.want(a, 200)
	issued := 0
	for _, b := range m.items["ticket"] {
		if b.number("event_id") == r.event && (b.fields["state"] == `"valid"` || b.fields["state"] == `"unpaid"`) {
			issued++
		}
	}
	admitted, letIn, doubles := m.doubled(r.event)
	is := a.text(m.home, "issued") + " " + a.text(m.home, "admitted") + " " + a.text(m.home, "let_in") + " " + a.text(m.home, "double_entries")
	if want := fmt.Sprint(issued, admitted, letIn, len(doubles)); is != want {
		m.Fatalf("issued, admitted, let in and double entries are %s, want %s", is, want)
	}
}

// doubles reads an event's double entries.
func (m *machine) doubles() {
	r := m.reading()
	a, ok := m.atDoor(r, "GET", fmt.Sprintf("/door/v1/event/%d/double_entries/?limit=100", r.event), "")
	if !ok {
		return
	}
	m.want(a, 200)
	var page struct {
		Results []struct {
			CheckinID string `json:"checkin_id"`
		}
	}
	if err := json.Unmarshal([]byte(a.body), &page); err != nil {
		m.Fatal(err)
	}
	var is []string
	for _, e := range page.Results {
		is = append(is, e.CheckinID)
	}
	_, _, want := m.doubled(r.event)
	slices.Sort(is)
	slices.Sort(want)
	if !slices.Equal(is, want) {
		m.Fatalf("double entries are %v, want %v", is, want)
	}
}
