package table

import (
	"encoding/binary"
	"fmt"
	"slices"

	"doorward/kv/engine"
	"doorward/kv/rev"
	"doorward/kv/scopes"
)

// Documents names the rows of a database's documents that are no records. A document has a row, a row for each body that is held,
// and a row in the database's log. There are two sorts:
//
//	free     documents of a free database
//	opaque   documents of kinds that this version does not know, in a scope. They are kept and relayed as they came, so an older
//	         node between two newer ones loses nothing. They are in the list and in the log of their database alone.
type Documents struct {
	Rows, Bodies, Log engine.Bucket
	Prefix            []byte // of all their keys
}

// FreeDocuments are the documents of a free database.
func FreeDocuments(db uint64) Documents {
	return Documents{FreeDocBucket, FreeBodyBucket, FreeLogBucket, binary.AppendUvarint(nil, db)}
}

// OpaqueDocuments are the documents of unknown kinds in a scope.
func OpaqueDocuments(s scopes.Scope) Documents {
	return Documents{OpaqueBucket, OpaqueBodyBucket, ScopeLogBucket, AppendScope(nil, s)}
}

// IsFree tells whether they are free documents.
func (ds Documents) IsFree() bool { return ds.Log == FreeLogBucket }

// Document is a document's row: sequence 8, deleted 1, tree. The zero Document is one that is not there.
type Document struct {
	Seq     uint64 // of its row in the log; 0 = the document is not stored
	Deleted bool   // its winner is a tombstone
	Tree    rev.Tree
}

// ParseDocument reads a document's row.
func ParseDocument(row []byte) (Document, error) {
	d, tree, err := cutDocument(row)
	if err != nil {
		return d, err
	}
	if d.Tree, err = rev.ParseTree(tree); err != nil {
		err = fmt.Errorf("%w: %w", engine.ErrCorrupt, rev.ErrTree)
	}
	return d, err
}

// ParseDocumentHead reads a document's row without its tree.
func ParseDocumentHead(row []byte) (Document, error) {
	d, _, err := cutDocument(row)
	return d, err
}

func cutDocument(row []byte) (d Document, tree []byte, err error) {
	c := Cutter{Rest: row}
	d.Seq, d.Deleted = c.Uint64(), c.Byte() == 1
	if c.Short {
		return Document{}, nil, engine.ErrCorrupt
	}
	return d, c.Rest, nil
}

// Key is the key of a document's row.
func (ds Documents) Key(doc string) []byte { return append(slices.Clip(ds.Prefix), doc...) }

// BodyKey is the key of a revision's body.
func (ds Documents) BodyKey(doc string, rev rev.ID) []byte {
	return AppendRevision(append(ds.Key(doc), 0), rev)
}

// LogKey is the key of a row of the log.
func (ds Documents) LogKey(seq uint64) []byte {
	return binary.BigEndian.AppendUint64(slices.Clip(ds.Prefix), seq)
}

// LogRow is the document's row in the log: its id, and of an opaque document kind 0, flags, generation and hash before it.
func (ds Documents) LogRow(doc string, d *Document) []byte {
	if ds.IsFree() {
		return []byte(doc)
	}
	leaves := d.Tree.Leaves()
	row := []byte{OpaqueKind, flags(d.Deleted, len(leaves) > 1)}
	row = binary.AppendUvarint(row, leaves[0].Revision.Generation)
	return append(append(row, leaves[0].Revision.Hash[:]...), doc...)
}

// ParseLogRow reads a row that LogRow has written. The documents of free databases say the rest of themselves.
func (ds Documents) ParseLogRow(seq uint64, row []byte) (ScopeChange, error) {
	if ds.IsFree() {
		return ScopeChange{Change: Change{Seq: seq}, Doc: string(row)}, nil
	}
	return ParseScopeLog(seq, row)
}

// Load reads a document. It returns the zero Document if there is none.
func (ds Documents) Load(r *engine.View, doc string) (Document, error) {
	row, err := r.Get(ds.Rows, ds.Key(doc))
	if err != nil || row == nil {
		return Document{}, err
	}
	return ParseDocument(row)
}

// Put writes a document's row.
func (ds Documents) Put(o *Tx, doc string, d *Document) {
	row := append(SeqKey(d.Seq), Flag(d.Deleted))
	o.Put(ds.Rows, ds.Key(doc), d.Tree.Append(row))
}

// Place writes a document's row, and moves its row in the log to a sequence.
func (ds Documents) Place(o *Tx, doc string, d *Document, seq uint64) {
	if d.Seq != 0 {
		o.Delete(ds.Log, ds.LogKey(d.Seq))
	}
	d.Seq, d.Deleted = seq, d.Tree.Winner().Deleted
	ds.Put(o, doc, d)
	o.Put(ds.Log, ds.LogKey(seq), ds.LogRow(doc, d))
}

// PurgeOpaque removes a document of an unknown kind from the file without a tombstone.
func PurgeOpaque(o *Tx, s scopes.Scope, doc string) error {
	ds := OpaqueDocuments(s)
	d, err := ds.Load(o.View.View, doc)
	if err != nil || d.Seq == 0 {
		return OrCorrupt(err)
	}
	o.Delete(ds.Log, ds.LogKey(d.Seq))
	o.Delete(ds.Rows, ds.Key(doc))
	for _, n := range d.Tree.Nodes() {
		o.Delete(ds.Bodies, ds.BodyKey(doc, n.Revision))
	}
	o.Changed = append(o.Changed, ListChange{From: d.Mark(s)})
	return nil
}

// Mark is how an opaque document is counted.
func (d *Document) Mark(s scopes.Scope) scopeMark {
	if d.Seq == 0 {
		return scopeMark{}
	}
	return scopeMark{scopes: [2]scopes.Scope{s}, live: !d.Deleted, deleted: d.Deleted, opaque: true}
}

var freeKey = []byte("free") // in meta: sequence uv, largest database id uv

// FreeCounters are the sequence of the latest change of all free databases, and the largest id of a database or an upload. A database
// that is deleted and made again begins after every cursor into the one before.
func FreeCounters(r *engine.View) (seq, last uint64, err error) {
	row, err := r.Get(MetaBucket, freeKey)
	if err != nil || row == nil {
		return 0, 0, err
	}
	c := Cutter{Rest: row}
	if seq, last = c.Uvarint(), c.Uvarint(); c.Short {
		err = engine.ErrCorrupt
	}
	return seq, last, err
}

// PutFreeCounters writes them.
func PutFreeCounters(w *engine.Tx, seq, last uint64) {
	w.Put(MetaBucket, freeKey, binary.AppendUvarint(binary.AppendUvarint(nil, seq), last))
}
