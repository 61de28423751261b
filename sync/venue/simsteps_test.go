package venue_test

import (
	"errors"
	"fmt"
	"time"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
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

// enter makes a person.
func (w *world) enter(n *node) {
	if n.muted || n != w.centre && !n.persons {
		return
	}
	label := w.label(n)
	id := kvtest.Create(w, n.store, record.Person, fmt.Sprintf(`{"full_name":"P","church_id":1,"external_id":%q}`, label))
	w.tell("%s enters person %d", n.name, len(w.people))
	w.claimed("person", id, label)
	w.people = append(w.people, id)
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
	_, err := w.centre.store.Desk.Update(auth.Operator(), of(record.Person, id), kvtest.Parse(w, record.Person, fmt.Sprintf(`{"church_id":%d}`, to), false))
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
