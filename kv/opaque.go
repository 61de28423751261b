package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/value"
)

// A document of a kind that this version does not know is kept as it came, in the database that it came through, and relayed: a
// newer laptop and a newer centre lose nothing by an older one between them. It is in no list but its database's, and in no log but
// its scope's.
type opaque struct {
	seq     uint64 // 0: new
	deleted bool
	tree    rev.Tree
}

// opaqueKind is the first byte of an opaque document's rows in logs: no kind has this number.
const opaqueKind = 0

// isOpaque tells whether an id is of a document of a kind that this version does not know.
func isOpaque(doc string) bool {
	name, id, ok := strings.Cut(doc, ":")
	_, known := record.ByName(name)
	return ok && id != "" && name != "" && !known && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

func opaqueKey(s scopes.Scope, doc string) []byte { return append(appendScope(nil, s), doc...) }

func opaqueBodyKey(s scopes.Scope, doc string, rev rev.ID) []byte {
	return appendRevision(append(opaqueKey(s, doc), 0), rev)
}

// opaque reads a document; nil where there is none.
func loadOpaque(v *sight, s scopes.Scope, doc string) (*opaque, error) {
	row, err := v.Get(opaqueBucket, opaqueKey(s, doc))
	if err != nil || row == nil {
		return nil, err
	}
	return parseOpaque(row)
}

func parseOpaque(row []byte) (d *opaque, err error) {
	c := cutter{rest: row}
	d = &opaque{seq: c.uint64(), deleted: c.byte()&rowDeleted != 0}
	if d.tree, err = rev.ParseTree(c.rest); err != nil || c.short {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, rev.ErrTree)
	}
	return d, nil
}

func (d *opaque) mark(s scopes.Scope) scopeMark {
	if d.seq == 0 {
		return scopeMark{}
	}
	return scopeMark{scopes: [2]scopes.Scope{s}, live: !d.deleted, deleted: d.deleted, opaque: true}
}

// appendLog appends the document's row in the log of its scope.
func (d *opaque) appendLog(dst []byte, doc string) []byte {
	leaves := d.tree.Leaves()
	dst = append(dst, opaqueKind, flags(leaves[0].Deleted, len(leaves) > 1))
	dst = binary.AppendUvarint(dst, leaves[0].Revision.Generation)
	return append(append(dst, leaves[0].Revision.Hash[:]...), doc...)
}

// parseOpaqueLog reads a row that appendLog has written.
func parseOpaqueLog(seq uint64, row []byte) (ch scopeChange, err error) {
	c := cutter{rest: row[1:]}
	set := c.byte()
	ch.Change = Change{Seq: seq, Deleted: set&rowDeleted != 0, Branched: set&rowBranched != 0}
	ch.Revision.Generation = c.uvarint()
	copy(ch.Revision.Hash[:], c.bytes(16))
	ch.doc = string(c.rest)
	if c.short || ch.doc == "" {
		return ch, ErrCorrupt
	}
	return ch, nil
}

// writeOpaque stores a replicated revision that a laptop, or this store's own replicator, brings.
func (db *scopeDocs) writeOpaque(o *op, p Principal, in *DocWrite) (rev rev.ID, err error) {
	spot, err := db.spot(p)
	if err != nil {
		return rev, err
	}
	q := auth.Question{Verb: auth.Make, Via: db.scope, To: [2]auth.Spot{spot}}
	if auth.May(p, q).Refuses() || len(in.Path) == 0 || len(in.canonical) > maxRecordDoc {
		return rev, refused(auth.NoKind.String())
	}
	d, err := loadOpaque(o.sight, db.scope, in.ID)
	if err != nil {
		return rev, err
	}
	if d == nil {
		d = &opaque{}
	}
	if d.tree.Has(in.Path[0]) {
		return in.Path[0], nil
	}
	if !p.IsOperator() {
		if value.HasLongNumber(in.canonical) {
			return rev, refused(longNumber("the document"))
		}
		if err := o.store.limits.mayBranch(&d.tree, in.Path); err != nil {
			return rev, err
		}
	}
	a := &arrival{node: in.authored(o)}
	if err := sign(o, p, a, in); err != nil {
		return rev, err
	}
	if _, err := d.tree.Graft(in.Path, a.node); err != nil {
		return rev, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	o.put(opaqueBodyBucket, opaqueBodyKey(db.scope, in.ID, in.Path[0]), in.canonical)
	placeOpaque(o, db.scope, in.ID, d)
	return in.Path[0], nil
}

// placeOpaque puts a document's row and moves its row in the log to the end.
func placeOpaque(o *op, s scopes.Scope, doc string, d *opaque) {
	dropped := d.tree.Stem(RevsLimit)
	leaves := d.tree.Leaves()
	for _, rev := range append(dropped, release(&d.tree, leaves)...) {
		o.delete(opaqueBodyBucket, opaqueBodyKey(s, doc, rev))
	}
	c := listChange{from: d.mark(s)}
	if d.seq != 0 {
		o.delete(scopeLogBucket, scopeSeqKey(nil, s, d.seq))
	}
	o.state.seq++
	d.seq, d.deleted = o.state.seq, leaves[0].Deleted
	c.to = d.mark(s)
	o.put(scopeLogBucket, scopeSeqKey(nil, s, d.seq), d.appendLog(nil, doc))
	o.put(opaqueBucket, opaqueKey(s, doc), d.tree.Append(append(seqKey(d.seq), flag(d.deleted))))
	o.changed = append(o.changed, c)
}

// opaqueRevision reads a revision's body, if it is there.
func opaqueRevision(v *sight, s scopes.Scope, doc string, n rev.Node, rev rev.ID) (DocRevision, error) {
	r := DocRevision{Revision: rev, Deleted: n.Deleted}
	row, err := v.Get(opaqueBodyBucket, opaqueBodyKey(s, doc, rev))
	r.Body = bytes.Clone(row)
	return r, err
}

func (db *scopeDocs) readOpaque(v *sight, id string, ask Ask) (doc Doc, err error) {
	d, err := loadOpaque(v, db.scope, id)
	if err != nil || d == nil {
		return doc, orNotFound(err)
	}
	doc = Doc{ID: id, Seq: d.seq, Deleted: d.deleted, Tree: d.tree}
	for _, rev := range ask.of(&d.tree) {
		r, err := opaqueRevision(v, db.scope, id, d.tree.Find(rev), rev)
		if err != nil {
			return doc, err
		}
		doc.Revisions = append(doc.Revisions, r)
	}
	return doc, nil
}

// listOpaque are the live opaque documents that a range wants.
func (db *scopeDocs) listOpaque(v *sight, r Range) (page []DocRow, err error) {
	prefix := appendScope(nil, db.scope)
	from := opaqueKey(db.scope, r.From)
	if r.Descending && r.From == "" {
		from = opaqueKey(db.scope, "\xff") // no id has this byte
	}
	if db.scope.Sort == 0 {
		return nil, nil
	}
	err = v.walk(opaqueBucket, r.Descending, prefix, from, func(key, row []byte) (bool, error) {
		d, err := parseOpaque(row)
		if err != nil || len(page) >= min(r.Limit, DocPage) {
			return false, err
		}
		if !d.deleted && !(r.Past && bytes.Equal(key, from)) {
			page = append(page, DocRow{ID: string(key[len(prefix):]), Seq: d.seq, Winner: d.tree.Winner().Revision})
		}
		return true, nil
	})
	return page, err
}

// verifyOpaque checks a row of an opaque document against the others.
func verifyOpaque(v *sight, b bucket, key, value []byte) error {
	s, rest, err := cutScope(key)
	if err != nil {
		return err
	}
	doc, rev := string(rest), rev.ID{}
	if b == opaqueBodyBucket {
		if doc, rev, err = cutRevision(rest); err != nil {
			return err
		}
	}
	d, err := loadOpaque(v, s, doc)
	if err != nil || d == nil {
		return errors.Join(err, fmt.Errorf("a row of an opaque document that is not there: %w", orCorrupt(err)))
	}
	if b == opaqueBodyBucket {
		if !d.tree.Find(rev).Held {
			return fmt.Errorf("the body of %s is no opaque document's", rev)
		}
		return nil
	}
	row, err := v.Get(scopeLogBucket, scopeSeqKey(nil, s, d.seq))
	if err != nil || !slices.Equal(row, d.appendLog(nil, doc)) || d.tree.Winner().Deleted != d.deleted {
		return errors.Join(err, fmt.Errorf("opaque document at %d has no row in the log of its scope", d.seq))
	}
	for _, n := range d.tree.Nodes() {
		if row, err := v.Get(opaqueBodyBucket, opaqueBodyKey(s, doc, n.Revision)); err != nil || n.Held && row == nil {
			return errors.Join(err, fmt.Errorf("opaque document at %d lacks the body of %s", d.seq, n.Revision))
		}
	}
	return nil
}

// verifyOpaqueLog checks that a row of a scope's log is its opaque document's latest change.
func verifyOpaqueLog(v *sight, s scopes.Scope, seq uint64, row []byte) error {
	c, err := parseOpaqueLog(seq, row)
	if err != nil {
		return err
	}
	d, err := loadOpaque(v, s, c.doc)
	if err != nil || d == nil || d.seq != seq {
		return errors.Join(err, fmt.Errorf("row %d of a scope is not its document's latest change", seq))
	}
	return nil
}
