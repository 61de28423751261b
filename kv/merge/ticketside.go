package merge

import (
	"bytes"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// A ticket's private half and its name are merged each by itself, and each field by itself. Where two sides have given a ticket to
// somebody, one's name must not stand beside the other's e-mail: what the merge took of the side that did not get the ticket changes
// places with what is listed of the side that did.

// sidedParts are the parts of a ticket that say whose it is.
var sidedParts = [...]*record.Kind{record.HolderName, record.Holder}

// holderClash is a conflict about what a ticket says of its holder.
type holderClash struct {
	id  record.ID
	st  *table.Stored
	doc *record.Doc
	of  *record.Kind // a part
}

func (c *holderClash) field() string { return c.doc.Text("field") }

// isBy tells that a node has written what does not stand.
func (c *holderClash) isBy(o *table.Tx, node ulid.ULID) bool {
	return c.doc.Text("node") == nodeText(o, node)
}

// part is a part of a ticket as it is; nil where it is not here.
func part(o *table.Tx, k *record.Kind, ticket record.ID) (st *table.Stored, is *record.Doc, err error) {
	if st, err = o.Load(k, ticket); err != nil || st == nil {
		return nil, nil, err
	}
	is, err = st.Decode(k)
	return st, is, err
}

// nodeText is a node of a tree as conflicts name it.
func nodeText(o *table.Tx, node ulid.ULID) string {
	if node == (ulid.ULID{}) {
		return o.Store.Identity.Node
	}
	return node.String()
}

// holderClashes are the conflicts about a ticket's holder, the oldest first.
func holderClashes(o *table.Tx, ticket record.ID) (all []holderClash, err error) {
	ids, err := o.Lookup(record.Conflict, "record_id", record.Holder.FormatID(ticket))
	for i := 0; i < len(ids) && err == nil; i++ {
		c := holderClash{id: ids[i]}
		if c.st, err = o.Load(record.Conflict, c.id); err != nil || c.st == nil {
			continue
		}
		if c.doc, err = c.st.Decode(record.Conflict); err != nil {
			return nil, err
		}
		if c.of, _ = record.ByName(c.doc.Text("kind")); !slices.Contains(sidedParts[:], c.of) {
			continue // of another record that has the number, or of a kind that this version does not know
		}
		if f, known := c.of.Field(c.field()); known && f.Flags.Has(record.Personal) {
			all = append(all, c)
		}
	}
	return all, err
}

// writerOf is the node that gave a field the value that it has, be it in a branch that was merged; known is false where the tree does not tell.
func writerOf(o *table.Tx, k *record.Kind, st *table.Stored, is *record.Doc, field string) (by ulid.ULID, known bool, err error) {
	t, err := table.LoadTree(o.View, k, st)
	if err != nil {
		return by, false, err
	}
	for _, n := range t.Nodes() {
		if !n.Held || n.Deleted || !slices.Contains(n.Fields, field) || known && n.Node == (ulid.ULID{}) {
			continue
		}
		was := is
		if n.Revision != st.Revision {
			if was, err = table.KeptDoc(o.View, k, st.Id, n.Revision); err != nil {
				return by, false, err
			}
		}
		if was != nil && bytes.Equal(was.Value(field), is.Value(field)) {
			by, known = n.Node, true // a merge is here's, and repeats what another node wrote
		}
	}
	return by, known, nil
}

// agreeOnHolder gives a ticket the name and the contacts of the side that gave it to whoever has it.
func agreeOnHolder(o *table.Tx, ticket record.ID) error {
	clashes, err := holderClashes(o, ticket)
	if err != nil || len(clashes) == 0 {
		return err
	}
	st, is, err := part(o, record.Holder, ticket)
	if err != nil || st == nil {
		return err
	}
	giver, known, err := writerOf(o, record.Holder, st, is, "person_id")
	if err != nil || !known {
		return err
	}
	if e, err := table.FindErased(o.View, record.Holder, ticket); err != nil || e != nil && giver == (ulid.ULID{}) {
		return err // nobody has it of the centre since its holder was erased
	}
	lost := slices.DeleteFunc(clashes, func(c holderClash) bool { return c.field() == "person_id" || !c.isBy(o, giver) })
	if len(lost) == 0 {
		return nil
	}
	for _, k := range sidedParts {
		if err := swap(o, k, ticket, lost); err != nil {
			return err
		}
	}
	return FollowAll(o, ticket)
}

// swap has a part say what the clashes about it list, and these list what it said.
func swap(o *table.Tx, k *record.Kind, ticket record.ID, clashes []holderClash) error {
	st, was, err := part(o, k, ticket)
	if err != nil || st == nil {
		return err
	}
	is := was.Clone()
	for _, c := range clashes {
		if c.of != k {
			continue
		}
		by, _, err := writerOf(o, k, st, was, c.field())
		if err != nil {
			return err
		}
		next := c.doc.Clone()
		next.Set("winner", c.doc.Value("other").Clone())
		next.Set("other", was.Value(c.field()).Clone())
		next.Set("node", value.Quote(nodeText(o, by)))
		is.Set(c.field(), c.doc.Value("other").Clone())
		if _, err := o.Write(table.Edit{Kind: record.Conflict, Id: c.id, Before: c.st, Was: c.doc, Is: next}); err != nil {
			return err
		}
	}
	if len(is.Differs(was)) == 0 {
		return nil
	}
	_, err = o.Write(table.Edit{Kind: k, Id: ticket, Before: st, Was: was, Is: is})
	return err
}

// GiveToOther gives a ticket of somebody who is to be erased to whom another side gave it, if a conflict lists such a person; given tells
// that there was one. The ticket says then what that side said of its holder, and nothing else.
func GiveToOther(o *table.Tx, ticket record.ID, erased []record.ID) (given bool, err error) {
	clashes, err := holderClashes(o, ticket)
	if err != nil {
		return false, err
	}
	to := slices.IndexFunc(clashes, func(c holderClash) bool {
		person := record.Int(c.doc.Int("other"))
		return c.field() == "person_id" && !person.IsZero() && !slices.Contains(erased, person) && o.Lists.Kind(record.Person).All.Contains(person)
	})
	if to < 0 {
		return false, nil
	}
	by := clashes[to].doc.Text("node")
	clashes = slices.DeleteFunc(clashes, func(c holderClash) bool { return c.doc.Text("node") != by })
	for _, k := range sidedParts {
		if err := takeSide(o, k, ticket, by, clashes); err != nil {
			return false, err
		}
	}
	for _, c := range clashes {
		if _, err := o.Write(table.Edit{Kind: record.Conflict, Id: c.id, Before: c.st, Was: c.doc}); err != nil {
			return false, err
		}
	}
	return true, FollowAll(o, ticket)
}

// takeSide has a part say of the holder what one side said: what the clashes list of it, and what stands if that side wrote it.
func takeSide(o *table.Tx, k *record.Kind, ticket record.ID, by string, clashes []holderClash) error {
	st, was, err := part(o, k, ticket)
	if err != nil || st == nil {
		return err
	}
	is := was.Erased()
	for i := range k.Fields {
		f := &k.Fields[i]
		if !f.Flags.Has(record.Personal) {
			continue
		}
		at := slices.IndexFunc(clashes, func(c holderClash) bool { return c.of == k && c.field() == f.Name })
		if at >= 0 {
			is.Set(f.Name, clashes[at].doc.Value("other").Clone())
			continue
		}
		writer, known, err := writerOf(o, k, st, was, f.Name)
		if err != nil {
			return err
		}
		if known && nodeText(o, writer) == by {
			is.Set(f.Name, was.Value(f.Name))
		}
	}
	_, err = o.Write(table.Edit{Kind: k, Id: ticket, Before: st, Was: was, Is: is})
	return err
}
