package venue_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/value"
)

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
