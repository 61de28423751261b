package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/office"
	"doorward/kv/table"
)

// What offline scanners hand in, and what doors and staff see of double entries (design.md §7, sync.md §3).

func doorPath(event int64, what string) string {
	return fmt.Sprintf("/door/v1/event/%d/%s/", event, what)
}

const seenAt = `"at":"2026-05-01T18:01:30Z"`

func TestScansAreJudgedOneByOne(t *testing.T) {
	w := newWorld(t)
	for _, code := range []string{"K1", "K2", "K3"} {
		w.ticket(w.event, code, `"type":"Adult","order":"H-7"`)
	}
	w.ticket(w.event, "GONE", `"state":"cancelled"`)
	first := w.scan(w.event, `{"code":"K1"}`)
	good := `{"code":"k2",` + seenAt + `,"nonce":"a","door":"South"}`
	body := `{"scans":[` + strings.Join([]string{
		good, `{"code":"K1",` + seenAt + `,"nonce":"b","let_in":true}`, `{"code":"","nonce":"c","at":"yesterday"}`, `{"code":"K3",` + seenAt + `,"nonce":"a"}`,
		`7`, `{"code":"GONE",` + seenAt + `,"let_in":true}`, `{"code":"K1",` + seenAt + `}`, `{"nonce":7,"let_in":"perhaps","door":"` + strings.Repeat("d", 65) + `"}`,
	}, ",") + `]}`
	send := func() answer {
		return w.status(w.do("POST", doorPath(w.event, "scans"), body, header("X-Door", "Phone 7"), invalid), 200)
	}
	a := send()
	for path, want := range map[string]string{
		"0.outcome": "admitted", "0.door": "South", "0.admitted_at": "2026-05-01T18:01:30Z", "0.at": "2026-05-01T18:01:30Z", "0.nonce": "a", "0.replayed": "false",
		"0.label": "Ana S.", "0.type": "Adult", "0.order": "H-7", "0.message": "Admitted.", "0.double_entry_id": "",
		"1.outcome": "already_admitted", "1.checkin_id": first.text(t, "checkin_id"), "1.nonce": "b",
		"2.error.code": "VALIDATION_ERROR", "2.error.details.code.0": "This field may not be blank.", "2.error.details.at.0": "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].",
		"2.nonce": "c", "2.outcome": "", "3.error.code": "UNPROCESSABLE_ENTITY", "3.nonce": "a", "4.error.code": "INVALID_REQUEST", "4.nonce": "",
		"5.outcome": "cancelled", "5.double_entry_id": "", "6.outcome": "already_admitted", "6.double_entry_id": "", "6.nonce": "",
		"7.error.details.code.0": "This field is required.", "7.error.details.let_in.0": "Must be a valid boolean.", "7.error.details.door.0": "Ensure this field has no more than 64 characters.",
	} {
		if got := a.text(t, "results."+path); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	if a.text(t, "results.1.double_entry_id") == "" {
		t.Errorf("who was let in has no check-in of his own: %s", a.body)
	}
	b := send()
	for _, path := range []string{"0.checkin_id", "0.admitted_at", "1.checkin_id", "1.double_entry_id"} {
		if got, want := b.text(t, "results."+path), a.text(t, "results."+path); got != want || b.text(t, "results."+path[:1]+".replayed") != "true" {
			t.Errorf("handed in again, %s = %q, want %q: %s", path, got, want, b.body)
		}
	}
	if got := w.status(w.do("GET", "/admin/v1/checkin/", ""), 200).text(t, "count"); got != "3" {
		t.Errorf("%s check-ins are written, want 3", got)
	}
}

func TestScansTakeTheBatchesKeyForTheirNonces(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "K1", "")
	w.ticket(w.event, "K2", "")
	body := `{"scans":[{"code":"K1",` + seenAt + `},{"code":"K2",` + seenAt + `,"let_in":true},{"code":"K2",` + seenAt + `,"let_in":true}]}`
	a := w.status(w.do("POST", doorPath(w.event, "scans"), body, header("Idempotency-Key", "batch 1")), 200)
	b := w.status(w.do("POST", doorPath(w.event, "scans"), body, header("Idempotency-Key", "batch 1")), 200)
	if got, want := strings.ReplaceAll(b.body, `"replayed":true`, `"replayed":false`), a.body; !sameButAge(got, want) {
		t.Errorf("again = %s\nwant    %s", got, want)
	}
	if got := w.do("GET", doorPath(w.event, "double_entries"), "").text(t, "count"); got != "1" {
		t.Errorf("%s double entries, want 1", got)
	}
}

// sameButAge compares answers without what grows older.
func sameButAge(a, b string) bool {
	var x, y struct{ Results []map[string]any }
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil || len(x.Results) != len(y.Results) {
		return false
	}
	for i := range x.Results {
		delete(x.Results[i], "seconds_ago")
		delete(y.Results[i], "seconds_ago")
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// TestAMirrorRefusesEachScan: with the sentence that says where to go, and 403 for what is asked alone.
func TestAMirrorRefusesEachScan(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "K1", "")
	u := table.Upstream{URL: "https://centre.example", Node: "01J00000000000000000000000", Epoch: "01J00000000000000000000001", Pulls: []string{"records"}}
	if err := w.store.Laptop.Join(auth.Operator(), u, office.Credential{Realm: w.store.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
	const want = "This laptop is a mirror, which is only read: check in at the centre, or at a laptop that is enrolled for the event."
	a := w.status(w.do("POST", doorPath(w.event, "scans"), `{"scans":[{"code":"K1",`+seenAt+`,"nonce":"a"},{"code":"",`+seenAt+`}]}`, invalid), 200)
	for path, want := range map[string]string{"0.error.code": "FORBIDDEN", "0.error.message": want, "0.nonce": "a", "1.error.code": "VALIDATION_ERROR"} {
		if got := a.text(t, "results."+path); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	for path, body := range map[string]string{
		fmt.Sprintf("/v1/event/%d/checkin/", w.event): `{"code":"K1"}`, doorPath(w.event, "scan"): `{"code":"K1"}`,
		doorPath(w.event, "undo"): `{"checkin_id":"01J00000000000000000000000"}`,
	} {
		a := w.status(w.do("POST", path, body), 403)
		if got := a.text(t, "error.message"); got != want || strings.Contains(a.body, "details") {
			t.Errorf("%s = %s, want the message %q and no level or permission that is wanting", path, a.body, want)
		}
	}
}

func TestScansAreBounded(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "K1", "")
	many := func(n int) string {
		return `{"scans":[` + strings.TrimSuffix(strings.Repeat(`{"code":"K1",`+seenAt+`},`, n), ",") + `]}`
	}
	path := doorPath(w.event, "scans")
	for body, want := range map[string]string{
		many(1001): "Ensure this field has no more than 1000 elements.", `{}`: "This field is required.", `{"scans":null}`: "This field may not be null.",
		`{"scans":"K1"}`: `Expected a list of items but got type "str".`, `{"scans":{}}`: `Expected a list of items but got type "dict".`,
	} {
		a := w.status(w.do("POST", path, body, invalid), 400)
		if got := a.text(t, "error.details.scans.0"); got != want {
			t.Errorf("%.40s: %q, want %q", body, got, want)
		}
	}
	if a := w.status(w.do("POST", path, `{"scans":[]}`), 200); a.body != `{"results":[]}` {
		t.Errorf("no scans = %s", a.body)
	}
	a := w.status(w.do("POST", path, many(1000)), 200)
	if a.text(t, "results.0.outcome") != "admitted" || a.text(t, "results.999.outcome") != "already_admitted" || a.value(t, "results.1000") != nil {
		t.Errorf("1,000 scans = %.300s", a.body)
	}
	far := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	for _, body := range []string{many(1), many(1001), `{}`} {
		far.status(far.do("POST", doorPath(w.farEvent, "scans"), body, invalid), 404)
	}
	reader := w.as("denomination", "checkin:GET")
	if a := reader.status(reader.do("POST", path, many(1)), 403); a.text(t, "error.details.required_scope") != "checkin:POST" {
		t.Errorf("403 = %s", a.body)
	}
}

func TestDoubleEntriesAreListed(t *testing.T) {
	w := newWorld(t)
	ticket := w.ticket(w.event, "K1", `"type":"Adult","order":"H-7"`)
	other := w.ticket(w.event, "K2", "")
	first := w.scan(w.event, `{"code":"K1","door":"North"}`)
	second := w.status(w.do("POST", doorPath(w.event, "scans"), `{"scans":[{"code":"K1",`+seenAt+`,"let_in":true,"door":"South"}]}`), 200).text(t, "results.0.double_entry_id")
	third := w.scan(w.event, `{"code":"K2"}`).text(t, "checkin_id")
	w.status(w.do("PATCH", adminPath("ticket", other), `{"state":"cancelled"}`), 200)
	w.scan(w.event, `{"code":"K2"}`)
	door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	a := door.status(door.do("GET", doorPath(w.event, "double_entries"), ""), 200)
	want := fmt.Sprintf(`{"checkin_id":%q,"event_id":%d,"ticket_id":%d,"label":"Ana S.","type":"Adult","order":"H-7","list":"","door":"South",`+
		`"admitted_at":"2026-05-01T18:01:30Z","basis":"offline","reason":"already_admitted","first":{"checkin_id":%q,"admitted_at":%q,"door":"North"}}`,
		second, w.event, ticket, first.text(t, "checkin_id"), first.text(t, "admitted_at"))
	if got := a.text(t, "count"); got != "2" || !strings.Contains(a.body, `"results":[`+want+`,{`) {
		t.Errorf("double entries = %s\nwant first %s", a.body, want)
	}
	if a.text(t, "results.1.checkin_id") != third || a.text(t, "results.1.reason") != "cancelled" || a.value(t, "results.1.first") != nil || strings.Contains(a.body, "Souza") {
		t.Errorf("double entries = %s", a.body)
	}
	all := w.status(w.do("GET", fmt.Sprintf("/admin/v1/double_entries/?limit=1&event_id=%d", w.event), ""), 200)
	if all.text(t, "count") != "2" || all.text(t, "results.0.holder") != "Ana Souza" || all.text(t, "results.0.node") != w.store.Tables.Identity.Node() ||
		!strings.Contains(all.text(t, "next"), "offset=1") || all.value(t, "results.0.key_id") == nil {
		t.Errorf("all double entries = %s", all.body)
	}
	for query, fault := range map[string]string{"x": "“x” is not a valid value.", "99": "Select a valid choice. 99 is not one of the available choices."} {
		if a := w.status(w.do("GET", "/admin/v1/double_entries/?event_id="+query, "", invalid), 400); a.text(t, "error.details.event_id.0") != fault {
			t.Errorf("event_id=%s: %s", query, a.body)
		}
	}
	w.status(w.do("PATCH", adminPath("ticket", other), `{"state":"valid"}`), 200)
	w.status(w.do("POST", doorPath(w.event, "undo"), fmt.Sprintf(`{"checkin_id":%q}`, first.text(t, "checkin_id"))), 200)
	if got := w.do("GET", doorPath(w.event, "double_entries"), "").text(t, "count"); got != "0" {
		t.Errorf("%s double entries once the first was undone and the ticket is valid, want 0", got)
	}
	if a := w.scan(w.event, `{"code":"K1"}`); a.text(t, "checkin_id") != second {
		t.Errorf("the admission is %s, want the second one %s", a.body, second)
	}
}

func TestStatusCounts(t *testing.T) {
	w := newWorld(t)
	for i := range 4 {
		w.ticket(w.event, fmt.Sprint("K", i), `"type":"Adult"`)
	}
	w.ticket(w.event, "C1", `"type":"Child"`)
	gone := w.ticket(w.event, "GONE", `"state":"blocked"`)
	door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	got := func() answer { return door.status(door.do("GET", doorPath(w.event, "status"), ""), 200) }
	if a := got(); a.text(t, "issued") != "5" || a.text(t, "admitted") != "0" || a.text(t, "minutes") != "[]" {
		t.Errorf("status before = %s", a.body)
	}
	undone := w.scan(w.event, `{"code":"K0","door":"North"}`).text(t, "checkin_id")
	batch := `{"code":"K1",` + seenAt + `,"door":"North"},{"code":"C1",` + seenAt + `,"door":"South"},{"code":"C1",` + seenAt + `,"let_in":true},{"code":"GONE",` + seenAt + `}`
	w.status(w.do("POST", doorPath(w.event, "scans"), `{"scans":[`+batch+`]}`), 200)
	w.status(w.do("POST", doorPath(w.event, "undo"), fmt.Sprintf(`{"checkin_id":%q}`, undone)), 200)
	want := fmt.Sprintf(`{"event_id":%d,"issued":5,"admitted":2,"double_entries":1,"inside":2,"outcomes":{"admitted":2,"already_admitted":1,"blocked":1,"cancelled":0,`+
		`"event_closed":0,"left":0,"no_longer_valid":0,"not_inside":0,"not_yet_valid":0,"refunded":0,"undone":1,"unknown_code":0,"unpaid":0,"wrong_event":0},`+
		`"types":{"Adult":{"issued":4,"admitted":1},"Child":{"issued":1,"admitted":1}},"types_more":{"issued":0,"admitted":0},`+
		`"doors":{"North":1,"South":1},"doors_more":0,"minutes":[{"minute":"2026-05-01T18:01:00Z","admitted":2,"refused":1}]}`, w.event)
	if a := got(); !same(a.body, want) {
		t.Errorf("status = %s\nwant     %s", a.body, want)
	}
	w.status(w.do("PATCH", adminPath("ticket", gone), `{"state":"valid","type":"Child"}`), 200)
	if a := got(); a.text(t, "types.Child.issued") != "2" || a.text(t, "issued") != "6" {
		t.Errorf("status after a ticket was unblocked = %s", a.body)
	}
	reader := w.as("denomination", "checkin:POST")
	reader.status(reader.do("GET", doorPath(w.event, "status"), ""), 403)
	door.status(door.do("GET", doorPath(w.farEvent, "status"), ""), 404)
}

// TestRaceOfBatchesAndDoorsAdmitsEachOnce mixes all ways to the door, while phones look at the status.
func TestRaceOfBatchesAndDoorsAdmitsEachOnce(t *testing.T) {
	const codes, clients = 60, 12
	w := newWorld(t)
	w.tickets(w.event, codes, racedCode)
	shared := w.as("denomination", "checkin:*")
	told := make([]batcher, clients)
	var all sync.WaitGroup
	for n := range told {
		told[n] = batcher{wire: shared.wire(), number: n, event: w.event}
		all.Go(func() {
			for i := 0; i < codes; i += 5 {
				told[n].five(i)
			}
		})
	}
	all.Wait()
	admissions, batched, doubles := map[string]bool{}, 0, 0
	for n := range told {
		for _, id := range told[n].admitted {
			admissions[id] = true
		}
		if doubles += len(told[n].doubles); n%3 == 2 {
			batched += len(told[n].admitted)
		}
	}
	st := w.status(w.do("GET", doorPath(w.event, "status"), ""), 200)
	listed := w.do("GET", doorPath(w.event, "double_entries")+"?limit=1", "").text(t, "count")
	if len(admissions) != codes || st.text(t, "admitted") != fmt.Sprint(codes) || st.text(t, "double_entries") != fmt.Sprint(doubles) || listed != fmt.Sprint(doubles) {
		t.Errorf("%d admissions of %d codes, %d double entries; %s are listed, the status is %s", len(admissions), codes, doubles, listed, st.body)
	}
	if want := clients/3*codes - batched; doubles != want {
		t.Errorf("%d double entries, want %d: each scan of a batch admits, or is one", doubles, want)
	}
}

// batcher is a client of one of three sorts: /v1, scan, or batches that it hands in twice.
type batcher struct {
	*wire
	number            int
	event             int64
	admitted, doubles []string
}

// five brings five codes.
func (c *batcher) five(from int) {
	c.ask("GET", doorPath(c.event, "status"), "")
	if c.number%3 == 2 {
		c.batch(from)
		return
	}
	path := []string{checkinPath(c.event), doorPath(c.event, "scan")}[c.number%3]
	for i := range 5 {
		if d := readDecided(c.ask("POST", path, fmt.Sprintf(`{"code":%q}`, racedCode(from+i)))); d.outcome == "admitted" {
			c.admitted = append(c.admitted, d.id)
		}
	}
}

func (c *batcher) batch(from int) {
	var items []string
	for i := range 5 {
		items = append(items, fmt.Sprintf(`{"code":%q,%s,"let_in":true,"nonce":"%d-%d"}`, racedCode(from+i), seenAt, c.number, from+i))
	}
	body := `{"scans":[` + strings.Join(items, ",") + `]}`
	c.ask("POST", doorPath(c.event, "scans"), body)
	a := c.ask("POST", doorPath(c.event, "scans"), body)
	for i := range 5 {
		at := fmt.Sprintf("results.%d.", i)
		if id := a.text(c, at+"double_entry_id"); id != "" {
			c.doubles = append(c.doubles, id)
		} else if a.text(c, at+"outcome") == "admitted" {
			c.admitted = append(c.admitted, a.text(c, at+"checkin_id"))
		}
	}
}
