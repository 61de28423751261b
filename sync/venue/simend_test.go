package venue_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/record"
)

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
		case p.sort == admission && docs["checkin:"+p.id] == "", p.sort == sale && docs[p.id] == "", p.sort == member && n == w.centre && people[p.id] == "",
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
	page, err := n.store.Door.DoubleEntries(auth.Operator(), door.DoubleQuery{Event: 1, Limit: 1000})
	w.must(err)
	got := map[string]string{}
	for _, e := range page.Entries {
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
