package api_test

import (
	"fmt"
	"strings"

	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/inbox"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
)

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
	page, err := c.store.Inbox.List(auth.Operator(), inbox.Query{Kind: k, Limit: 1000})
	if err != nil {
		c.Fatal(err)
	}
	for _, r := range page.Replies {
		if !strings.Contains(string(r.JSON), marker) {
			continue
		}
		listed := c.note(&lore{kind: kind + "s", id: k.FormatID(r.ID), marker: marker, refs: map[string]int64{"church_id": home}})
		bare := *listed
		bare.kind, bare.reach = kind, reach{name: "denomination"}
		c.records = append(c.records, &bare)
	}
}
