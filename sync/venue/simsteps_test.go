package venue_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/names"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// act is one thing that may happen at a node.
type act struct {
	name   string
	weight int
	do     func(*world, *node)
}

// acts are what may happen at a laptop or at the centre.
var acts = []act{
	{"check in", 10, (*world).checkIn},
	{"check in again", 2, (*world).checkInAgain},
	{"undo", 2, (*world).undo},
	{"sell", 5, func(w *world, n *node) { w.sell(n) }},
	{"enter", 2, func(w *world, n *node) { w.enter(n) }},
	{"edit", 8, (*world).edit},
	{"note", 6, (*world).note},
	{"delete", 1, (*world).remove},
	{"cancel", 1, (*world).cancel},
	{"move", 1, (*world).move},
	{"name", 5, (*world).name},
	{"erase", 2, (*world).erase},
	{"sync", 9, (*world).sync},
	{"kill", 1, func(w *world, n *node) {
		w.tell("%s is killed", n.name)
		n.kill(n.disk())
	}},
	{"back up", 2, func(w *world, n *node) {
		w.tell("%s is backed up", n.name)
		n.keep()
	}},
	{"restore", 4, (*world).restore},
	{"clone", 1, (*world).clone},
	{"shift", 2, (*world).shift},
}

// next makes one thing happen.
func (w *world) next() {
	w.step++
	time.Sleep(time.Minute + 7*time.Millisecond)
	nodes := append([]*node{w.centre, w.centre}, w.laptops...)
	n := nodes[w.IntN(len(nodes))]
	sum := 0
	for _, a := range acts {
		sum += a.weight
	}
	at := w.IntN(sum)
	for _, a := range acts {
		if at -= a.weight; at < 0 {
			a.do(w, n)
			return
		}
	}
}

// label names what happens now as nothing else.
func (w *world) label(n *node) string {
	return fmt.Sprintf("%s-%03d-%d", n.name, w.step, len(w.promises))
}

func (w *world) checkIn(n *node) {
	w.attempt(n, w.codes[w.IntN(len(w.codes))], w.label(n))
}

// checkInAgain is a scanner that has lost the answer.
func (w *world) checkInAgain(n *node) {
	if n.own.last != "" {
		var code, nonce string
		fmt.Sscan(n.own.last, &code, &nonce)
		w.attempt(n, code, nonce)
	}
}

func (w *world) attempt(n *node, code, nonce string) {
	d, err := n.store.Door.CheckIn(auth.Operator(), door.Attempt{Event: 1, Code: code, Door: n.name, Nonce: nonce})
	w.must(err)
	crashes := w.IntN(6) == 0
	if crashes {
		n.crashed = n.disk()
	}
	w.tell("%s checks in %s: %s", n.name, code, d.Outcome)
	n.own.last = code + " " + nonce
	if first := n.own.nonces[nonce]; first != "" && !w.undone[first] && (d.Outcome != outcome.Admitted || d.CheckinID != first) {
		w.failf("the attempt was answered %s before, now %+v", first, d)
	}
	if d.Outcome == outcome.Admitted && !d.Replayed {
		if first := n.own.admitted[code]; first != "" && !w.undone[first] {
			w.failf("%s had admitted %s before: %s, now %s", n.name, code, first, d.CheckinID)
		}
		n.own.admitted[code], n.own.nonces[nonce] = d.CheckinID, d.CheckinID
		w.promised(n, promise{label: w.label(n), sort: admission, id: d.CheckinID})
	}
	if crashes {
		w.tell("%s is killed after its answer", n.name)
		n.kill(n.crashed)
	}
}

func (w *world) undo(n *node) {
	code := w.codes[w.IntN(len(w.codes))]
	id := n.own.admitted[code]
	if id == "" || w.undone[id] {
		return
	}
	_, err := n.store.Door.Undo(auth.Operator(), door.Undoing{Event: 1, CheckinID: id, Door: n.name})
	if errors.Is(err, door.ErrNoCheckin) {
		return // somebody else has
	}
	w.must(err)
	w.tell("%s undoes %s", n.name, code)
	w.undone[id] = true
	w.promised(n, promise{label: w.label(n), sort: undoing, id: id})
}

// sell makes a ticket.
func (w *world) sell(n *node) {
	if n.muted || len(w.codes) > 15 {
		return
	}
	label, code := w.label(n), fmt.Sprintf("CODE-%04d-%s", len(w.codes), n.name)
	id := kvtest.Create(w, n.store, record.Ticket, fmt.Sprintf(`{"event_id":1,"code":%q,"type":%q,"holder_name":"Ana %d"}`, code, label, w.step))
	w.tell("%s sells %s", n.name, code)
	w.claimed("ticket", id, label)
	w.codes = append(w.codes, code)
	w.promised(n, promise{label: label, sort: sale, id: docName("ticket", id)})
}

// enter makes a person. Each church numbers its people from 1; church 2 has its list at the centre.
func (w *world) enter(n *node) {
	if n.muted || n != w.centre && !n.persons {
		return
	}
	church := 1
	if n == w.centre && w.IntN(2) == 0 {
		church = 2
	}
	w.enterAt(n, church)
}

// enterAt makes a person of a church. The people of church 2 are left alone afterwards.
func (w *world) enterAt(n *node, church int) {
	w.numbers[church]++
	label := w.label(n)
	id := kvtest.Create(w, n.store, record.Person, fmt.Sprintf(`{"full_name":%q,"church_id":%d,"external_id":"%04d"}`, label, church, w.numbers[church]))
	w.claimed("person", id, label)
	if w.tell("%s enters number %d of church %d", n.name, w.numbers[church], church); church == 1 {
		w.people = append(w.people, id)
	}
	w.promised(n, promise{label: label, sort: member, id: docName("person", id), person: id})
}

// someone draws a person whom a node has; 0 = none.
func (w *world) someone(n *node) (i int, id int64, json string) {
	i = w.IntN(min(w.IntN(len(w.people))+1, len(w.people))) // the first most often
	if n != w.centre && !n.persons {
		return i, 0, ""
	}
	r, err := n.store.Desk.Retrieve(auth.Operator(), of(record.Person, w.people[i]))
	if errors.Is(err, table.ErrNotFound) {
		return i, 0, ""
	}
	w.must(err)
	return i, w.people[i], string(r.JSON)
}

func of(k *record.Kind, id int64) desk.Target {
	return desk.Target{Surface: record.Admin, Kind: k, ID: record.Int(id)}
}

func docName(kind string, id int64) string { return fmt.Sprintf("%s:%016d", kind, id) }

var editable = []string{"occupation", "nationality", "education_level"}

func (w *world) edit(n *node) {
	field := editable[w.IntN(len(editable))]
	i, id, json := w.someone(n)
	if id == 0 {
		return
	}
	label := w.label(n)
	_, err := n.store.Desk.Update(auth.Operator(), of(record.Person, id), kvtest.Parse(w, record.Person, fmt.Sprintf(`{%q:%q}`, field, label), false))
	w.must(err)
	w.tell("%s changes %s of person %d", n.name, field, i)
	w.promised(n, promise{label: label, sort: edit, id: docName("person", id), person: id, value: label, base: memberOf(json, field)})
}

// note changes a ticket. A laptop of the event is told that it may not, once the centre has changed it; until it knows that, the centre
// keeps what it wrote.
func (w *world) note(n *node) {
	page, err := n.store.Desk.List(auth.Operator(), desk.Query{Surface: record.Admin, Kind: record.Ticket, Limit: 100})
	w.must(err)
	if len(page.IDs) == 0 {
		return
	}
	last := len(page.IDs) - 1
	id := page.IDs[last-w.IntN(1+w.IntN(last+1))].Int() // mostly one that a laptop has sold
	r, err := n.store.Desk.Retrieve(auth.Operator(), of(record.Ticket, id))
	w.must(err)
	label := w.label(n)
	_, err = n.store.Desk.Update(auth.Operator(), of(record.Ticket, id), kvtest.Parse(w, record.Ticket, fmt.Sprintf(`{"order":%q}`, label), false))
	if errors.Is(err, auth.ErrForbidden) && n != w.centre && !n.persons {
		return
	}
	w.must(err)
	w.tell("%s notes an order of ticket %d", n.name, id)
	w.promised(n, promise{label: label, sort: note, id: docName("ticket", id), value: label, base: memberOf(string(r.JSON), "order")})
}

func (w *world) remove(n *node) {
	i, id, json := w.someone(n)
	if id == 0 || len(w.people) < 4 {
		return
	}
	if err := n.store.Desk.Delete(auth.Operator(), of(record.Person, id)); errors.Is(err, table.ErrConflict) {
		return // a membership holds it
	} else {
		w.must(err)
	}
	w.tell("%s deletes person %d", n.name, i)
	w.deleted[id] += json
	w.promised(n, promise{label: w.label(n), sort: removal, person: id})
}

func (w *world) cancel(*node) {
	i := w.IntN(len(w.codes))
	page, err := w.centre.store.Desk.List(auth.Operator(), desk.Query{Surface: record.Admin, Kind: record.Ticket, Limit: 100})
	w.must(err)
	if i >= len(page.IDs) {
		return
	}
	id := page.IDs[i].Int()
	_, err = w.centre.store.Desk.Update(auth.Operator(), of(record.Ticket, id), kvtest.Parse(w, record.Ticket, `{"state":"cancelled"}`, false))
	w.must(err)
	w.tell("the centre cancels ticket %d", i)
	w.promised(w.centre, promise{label: w.label(w.centre), sort: cancel, id: docName("ticket", id)})
}

func (w *world) move(*node) {
	i, id, json := w.someone(w.centre)
	if id == 0 {
		return
	}
	to := 2
	if memberOf(json, "church_id") == "2" {
		to = 1
	}
	// The other church has given the person's number to somebody else.
	leaves := fmt.Sprintf(`{"church_id":%d,"external_id":null}`, to)
	_, err := w.centre.store.Desk.Update(auth.Operator(), of(record.Person, id), kvtest.Parse(w, record.Person, leaves, false))
	w.must(err)
	w.tell("person %d moves to church %d", i, to)
}

func (w *world) sync(n *node) {
	if n == w.centre {
		n = w.laptops[w.IntN(len(w.laptops))]
	}
	l := &wire{fate: fates[w.IntN(len(fates))], at: 1 + w.IntN(exchanges)}
	err := w.round(n, l)
	w.tell("%s meets the centre, at exchange %d %s: %v", n.name, l.at, l.fate, err)
}

func (w *world) restore(n *node) {
	if len(n.copies) == 0 {
		return
	}
	i := w.IntN(len(n.copies))
	w.tell("%s is restored to copy %d", n.name, i)
	if n == w.centre {
		w.forgive(n.copies[i].own)
	}
	n.restore(n.copies[i])
	n.muted = false
	if n == w.centre {
		w.restored = n.now()
		n.copies = nil // a second restore of one backup gives ids again that the first has given: see the page recover of the manual
	}
}

// forgive notes which edits nobody may miss: the centre that is being restored may have listed them, and merged them away.
func (w *world) forgive(known *memory) {
	for label, p := range w.promises {
		p.forgiven = p.forgiven || p.sort.isWritten() && !known.holds[label]
	}
}

// shift sets the centre's clock. The event goes on as long as the simulation does, so no laptop may ever drop it; and no laptop's clock
// is wrong by as much as the centre's, for two that agree would be believed.
func (w *world) shift(*node) {
	some := []time.Duration{0, 10 * time.Minute, -10 * time.Minute, 6 * 24 * time.Hour, 12 * 24 * time.Hour, -6 * 24 * time.Hour, 10 * 365 * 24 * time.Hour}
	w.centre.offset = some[w.IntN(len(some))]
	w.tell("the centre's clock is wrong by %v", w.centre.offset)
}

func (w *world) clone(n *node) {
	if n == w.centre || len(w.laptops) > 3 {
		return
	}
	image := w.IntN(2) == 0
	w.tell("%s is cloned (image %v)", n.name, image)
	w.laptops = append(w.laptops, n.clone(fmt.Sprintf("%s+%d", n.name, w.step), image))
}

// heal lets all meet until nobody has news: the network is whole, clocks are right.
func (w *world) heal() {
	for _, n := range append([]*node{w.centre}, w.laptops...) {
		n.offset = 0
	}
	w.step++
	w.tell("all is well again")
	for cycle := 0; ; cycle++ {
		before := w.seqs()
		for _, n := range w.laptops {
			w.must(w.round(n, &wire{}))
		}
		if cycle > 0 && slices.Equal(before, w.seqs()) {
			return
		}
		if cycle > 12 {
			w.failf("they go on and on: %v, %v", before, w.seqs())
		}
	}
}

func (w *world) seqs() (all []uint64) {
	for _, n := range append([]*node{w.centre}, w.laptops...) {
		all = append(all, n.store.Tables.Commits.Seq())
	}
	return all
}

// docs are all documents of a database by id: leaves, paths, bodies.
func (w *world) docs(n *node, db string) map[string]string {
	d, err := n.store.Docs.Database(auth.Operator(), db)
	w.must(err)
	all := map[string]string{}
	feed := docs.Feed{Limit: docs.DocPage}
	for more := true; more; {
		var page []docs.DocChange
		page, more, err = d.Changes(feed)
		w.must(err)
		for _, c := range page {
			feed.Since = c.Seq
			if c.Removed {
				continue
			}
			doc, err := d.Read(c.ID, docs.Ask{Leaves: true})
			w.must(err)
			var text strings.Builder
			for _, r := range doc.Revisions {
				fmt.Fprintf(&text, "%v %v %s\n", doc.Tree.Path(r.Revision), r.Deleted, r.Body)
			}
			all[c.ID] = text.String()
		}
	}
	return all
}

// check judges the end.
func (w *world) check() {
	for _, n := range w.laptops {
		up, _, err := n.store.Laptop.Upstream()
		w.must(err)
		p, err := w.centre.store.Keys.Login(up.Key, up.Secret)
		w.must(err)
		all, err := w.centre.store.Venues.Exchanged(p, 0)
		w.must(err)
		for _, e := range all {
			if e.Pull {
				w.same(n, e.Name)
			}
		}
	}
	for _, n := range append([]*node{w.centre}, w.laptops...) {
		w.kept(n)
		w.nameless(n)
		w.labelled(n)
		w.doubles(n)
		r, err := n.store.Files.Verify(auth.Operator(), nil)
		if err != nil || r.Damaged > 0 {
			w.failf("%s: Verify = %+v, %v", n.name, r, err)
		}
	}
	w.written()
}

// same wants a laptop to hold what the centre holds.
func (w *world) same(n *node, db string) {
	a, b := w.docs(w.centre, db), w.docs(n, db)
	for _, id := range slices.Sorted(maps.Keys(a)) {
		if a[id] != b[id] && !(isHolding(id) && isOver(a[id]) && isOver(b[id])) {
			w.failf("%s: %s of %s is\n%s\nat the centre\n%s", n.name, id, db, b[id], a[id])
		}
		delete(b, id)
	}
	for _, id := range slices.Sorted(maps.Keys(b)) {
		if isHolding(id) && isOver(b[id]) || w.late[id] {
			continue
		}
		w.failf("%s: %s of %s is not at the centre:\n%s", n.name, id, db, b[id])
	}
}

// isHolding tells a document of a holding. Of one that was erased each store has the tombstones that it has made itself.
func isHolding(id string) bool {
	k, _, ok := record.ParseDocID(id)
	return ok && k.OfHolding()
}

// isOver tells a document that is deleted, or not there.
func isOver(doc string) bool { return !strings.Contains(doc, "] false ") }

// kept wants a node to have what it must.
func (w *world) kept(n *node) {
	docs := w.docs(n, "event-1")
	people := map[string]string{}
	if n == w.centre || n.persons {
		people = w.docs(n, "church-1")
		if n == w.centre {
			maps.Copy(people, w.docs(n, "church-2"))
		}
	}
	all := strings.Join(slices.Collect(maps.Values(docs)), "")
	for _, label := range slices.Sorted(maps.Keys(w.promises)) {
		p := w.promises[label]
		if !w.isDue(p) {
			continue
		}
		switch {
		case p.sort == admission && docs["checkin:"+p.id] == "", p.sort == sale && docs[p.id] == "", p.sort == member && n == w.centre && isOver(people[p.id]) && w.deleted[p.person] == "",
			p.sort == undoing && !strings.Contains(all, `"checkin_id":"`+p.id+`"`), p.sort == cancel && !strings.Contains(docs[p.id], `"state":"cancelled"`):
			w.failf("%s has lost %s %s (%s)", n.name, p.sort, label, p.id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.claims)) {
		body := docs[id] + people[id]
		if body != "" && strings.Contains(body, "false {") && !strings.Contains(body, `"`+w.claims[id]+`"`) {
			w.failf("%s: %s is not %s but %s", n.name, id, w.claims[id], body)
		}
	}
}

// fact is what of a fact decides.
type fact struct {
	id        string
	HLC       string `json:"hlc"`
	Ticket    int64  `json:"ticket_id"`
	Code      string `json:"code_hash"`
	List      string `json:"list"`
	CheckinID string `json:"checkin_id"`
}

func (f *fact) before(o *fact) bool { return f.HLC < o.HLC || f.HLC == o.HLC && f.id < o.id }

// doubles folds all facts of a node again, and wants the double entries that it lists to be those.
func (w *world) doubles(n *node) {
	var ins []*fact
	undone, cancelled := map[string]bool{}, map[int64]bool{}
	docs := w.docs(n, "event-1")
	for _, id := range slices.Sorted(maps.Keys(docs)) {
		f := &fact{}
		kind, name, _ := strings.Cut(id, ":")
		_ = json.Unmarshal([]byte(docs[id][max(0, strings.Index(docs[id], "{")):]), f) // a tombstone has no body
		switch f.id = name; kind {
		case "checkin":
			ins = append(ins, f)
		case "undo":
			undone[f.CheckinID] = true
		case "ticket":
			number, _ := strconv.ParseInt(name, 10, 64) // it is one
			cancelled[number] = strings.Contains(docs[id], `"state":"cancelled"`)
		}
	}
	ins = slices.DeleteFunc(ins, func(f *fact) bool { return undone[f.id] })
	want := map[string]string{}
	for _, f := range ins {
		if cancelled[f.Ticket] {
			want[f.id] = "cancelled"
		}
		for _, o := range ins {
			if (o.Code == f.Code || o.Ticket == f.Ticket) && o.List == f.List && o.before(f) {
				want[f.id] = "already_admitted"
			}
		}
	}
	page, err := n.store.Door.DoubleEntries(auth.Operator(), 1, desk.Part{Limit: 1000})
	w.must(err)
	got := map[string]string{}
	for _, e := range page.Items {
		got[e.CheckinID] = string(e.Reason)
	}
	if !maps.Equal(got, want) {
		w.failf("%s lists the double entries %v, want %v", n.name, got, want)
	}
}

// written wants nothing to be lost that a person wrote: each edit shows, was seen by whoever changed it next, or is listed.
func (w *world) written() {
	var listed bytes.Buffer
	for _, k := range []*record.Kind{record.Conflict, record.Refusal} {
		w.must(w.centre.store.Log.Export(auth.Operator(), k, func(json []byte) error {
			_, err := listed.Write(append(json, '\n'))
			return err
		}))
	}
	shown := ""
	for _, db := range []string{"church-1", "church-2", "event-1"} {
		docs := w.docs(w.centre, db)
		shown += strings.Join(slices.Collect(maps.Values(docs)), "")
	}
	shown += listed.String()
	var told func(p *promise) bool
	told = func(p *promise) bool {
		if strings.Contains(shown, `"`+p.value+`"`) || strings.Contains(shown, `\"`+p.value+`\"`) || strings.Contains(w.deleted[p.person], `"`+p.value+`"`) {
			return true
		}
		for _, next := range w.promises {
			if next.sort.isWritten() && next.id == p.id && next.base == `"`+p.value+`"` && told(next) {
				return true
			}
		}
		return false
	}
	for _, label := range slices.Sorted(maps.Keys(w.promises)) {
		if p := w.promises[label]; p.sort.isWritten() && !p.forgiven && w.isDue(p) && !told(p) {
			w.failf("the edit %s of %s is lost:\n%s", label, p.id, shown)
		}
	}
}

// memberOf is one member of an object, as it stands there.
func memberOf(object, name string) string {
	var all map[string]json.RawMessage
	_ = json.Unmarshal([]byte(object), &all) // it is one
	return string(all[name])
}

// name gives a ticket's holder another name.
func (w *world) name(n *node) {
	page, err := n.store.Desk.List(auth.Operator(), desk.Query{Surface: record.Admin, Kind: record.Ticket, Limit: 3})
	w.must(err)
	if len(page.IDs) == 0 {
		return
	}
	id, name := page.IDs[w.IntN(len(page.IDs))].Int(), "Zed "+w.label(n)
	_, err = n.store.Desk.Update(auth.Operator(), of(record.Ticket, id), kvtest.Parse(w, record.Ticket, fmt.Sprintf(`{"holder_name":%q}`, name), false))
	if errors.Is(err, auth.ErrForbidden) && n != w.centre && (!n.persons || w.lacksName(n, id)) {
		return
	}
	w.must(err)
	w.tell("%s names the holder of ticket %d", n.name, id)
	holding := w.holding(n, id)
	w.names[holding] = append(w.names[holding], name)
}

// holding is the present holding of a ticket as a node has it.
func (w *world) holding(n *node, ticket int64) string {
	return value.Unquote([]byte(memberOf(bodyIn(w.docs(n, "event-1")[docName("ticket", ticket)]), "holding")))
}

// lacksName tells that a laptop has a ticket and not the name of its present holder: a meeting broke off in between.
func (w *world) lacksName(n *node, ticket int64) bool {
	holding := w.holding(n, ticket)
	return holding != "" && bodyIn(w.docs(n, "event-1-names")["holder_name:"+holding]) == ""
}

// erase has a ticket belong to somebody who is erased at the centre: no name that was given to that holding, at any node, may stay anywhere.
// A laptop that knew of no holding any more has begun another one with the name that it gave.
func (w *world) erase(*node) {
	c := w.centre.store
	page, err := c.Desk.List(auth.Operator(), desk.Query{Surface: record.Admin, Kind: record.Ticket, Limit: 3})
	w.must(err)
	if len(page.IDs) == 0 {
		return
	}
	id := page.IDs[w.IntN(len(page.IDs))].Int()
	person := kvtest.Create(w, c, record.Person, `{"full_name":"Zed","church_id":2}`)
	_, err = c.Desk.Update(auth.Operator(), of(record.Ticket, id), kvtest.Parse(w, record.Ticket, fmt.Sprintf(`{"person_id":%d}`, person), false))
	w.must(err)
	holding := w.holding(w.centre, id)
	_, err = c.Erasures.Erase(auth.Operator(), record.Person, record.Int(person))
	w.must(err)
	w.tell("the centre erases the holder of ticket %d", id)
	w.erased = append(w.erased, w.names[holding]...)
	for _, p := range w.promises { // with the names goes what staff were to look at
		p.forgiven = p.forgiven || p.id == docName("ticket", id)
	}
}

// nameless wants a node to hold no name that was erased.
func (w *world) nameless(n *node) {
	for _, db := range []string{"event-1", "event-1-names"} {
		docs := w.docs(n, db)
		all := strings.Join(slices.Sorted(maps.Values(docs)), "")
		for _, name := range w.erased {
			if strings.Contains(all, name+`"`) {
				w.failf("%s: %s holds %s, which was erased:\n%s", n.name, db, name, all)
			}
		}
	}
}

// labelled wants the label of each holding that a node has to be that of its name, where both are there, and the centre to have a label
// for each present holding with a name and for no other.
func (w *world) labelled(n *node) {
	list, labels := w.docs(n, "event-1-names"), map[string]string{}
	if n == w.centre {
		labels = w.docs(n, "event-1-labels")
	}
	present := map[string]bool{}
	for id, ticket := range w.docs(n, "event-1") {
		if strings.HasPrefix(id, "ticket:") {
			present[value.Unquote([]byte(memberOf(bodyIn(ticket), "holding")))] = true
		}
	}
	for id, doc := range list {
		number := strings.TrimPrefix(id, "holder_name:")
		name, label := bodyIn(doc), bodyIn(labels["holder_label:"+number])
		if n != w.centre || name == "" {
			continue
		}
		if full := value.Unquote([]byte(memberOf(name, "full_name"))); present[number] && value.Unquote([]byte(memberOf(label, "label"))) != names.Label(full) {
			w.failf("%s: the label of %s is %q beside the name %q", n.name, number, label, full)
		}
	}
	for id, doc := range labels {
		if number := strings.TrimPrefix(id, "holder_label:"); !present[number] && bodyIn(doc) != "" {
			w.failf("%s: %s is over and has the label %q", n.name, number, bodyIn(doc))
		}
	}
}

// bodyIn is the body of a document's winner, as docs tells it; "" where it is deleted.
func bodyIn(doc string) string {
	winner, _, _ := strings.Cut(doc, "\n")
	_, body, _ := strings.Cut(winner, "] false ")
	return body
}
