package table

import (
	"encoding/binary"
	"fmt"
	"strings"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
)

var freeKey = []byte("free") // in meta: sequence uv, largest database id uv

// FreeCounters are the sequence of the latest change of all free databases, and the largest id that a database or an upload had:
// a database that is made again begins beyond every cursor into the one before.
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

func PutFreeCounters(w *engine.Tx, seq, last uint64) {
	w.Put(MetaBucket, freeKey, binary.AppendUvarint(binary.AppendUvarint(nil, seq), last))
}

// FirstKeys are the first keys with a prefix, at most n of them.
func FirstKeys(r *engine.View, b engine.Bucket, prefix []byte, n int) (keys [][]byte, err error) {
	err = r.Scan(b, prefix, nil, func(key, _ []byte) (bool, error) {
		if len(keys) == n {
			return false, nil
		}
		keys = append(keys, append([]byte(nil), key...))
		return true, nil
	})
	return keys, err
}

// A document of a kind that this version does not know is kept as it came, in the database that it came through, and relayed: a
// newer laptop and a newer centre lose nothing by an older one between them. It is in no list but its database's, and in no log but
// its scope's.
type Opaque struct {
	Seq     uint64 // 0: new
	Deleted bool
	Tree    rev.Tree
}

// OpaqueKind is the first byte of an opaque document's rows in logs: no kind has this number.
const OpaqueKind = 0

// IsOpaque tells whether an id is of a document of a kind that this version does not know.
func IsOpaque(doc string) bool {
	name, id, ok := strings.Cut(doc, ":")
	_, known := record.ByName(name)
	return ok && id != "" && name != "" && !known && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

func OpaqueKey(s scopes.Scope, doc string) []byte { return append(AppendScope(nil, s), doc...) }

func OpaqueBodyKey(s scopes.Scope, doc string, rev rev.ID) []byte {
	return AppendRevision(append(OpaqueKey(s, doc), 0), rev)
}

// opaque reads a document; nil where there is none.
func LoadOpaque(v *View, s scopes.Scope, doc string) (*Opaque, error) {
	row, err := v.Get(OpaqueBucket, OpaqueKey(s, doc))
	if err != nil || row == nil {
		return nil, err
	}
	return ParseOpaque(row)
}

func ParseOpaque(row []byte) (d *Opaque, err error) {
	c := Cutter{Rest: row}
	d = &Opaque{Seq: c.Uint64(), Deleted: c.Byte()&rowDeleted != 0}
	if d.Tree, err = rev.ParseTree(c.Rest); err != nil || c.Short {
		return nil, fmt.Errorf("%w: %w", engine.ErrCorrupt, rev.ErrTree)
	}
	return d, nil
}

func (d *Opaque) Mark(s scopes.Scope) scopeMark {
	if d.Seq == 0 {
		return scopeMark{}
	}
	return scopeMark{scopes: [2]scopes.Scope{s}, live: !d.Deleted, deleted: d.Deleted, opaque: true}
}

// AppendLog appends the document's row in the log of its scope.
func (d *Opaque) AppendLog(dst []byte, doc string) []byte {
	leaves := d.Tree.Leaves()
	dst = append(dst, OpaqueKind, flags(leaves[0].Deleted, len(leaves) > 1))
	dst = binary.AppendUvarint(dst, leaves[0].Revision.Generation)
	return append(append(dst, leaves[0].Revision.Hash[:]...), doc...)
}

// ParseOpaqueLog reads a row that appendLog has written.
func ParseOpaqueLog(seq uint64, row []byte) (ch ScopeChange, err error) {
	c := Cutter{Rest: row[1:]}
	set := c.Byte()
	ch.Change = Change{Seq: seq, Deleted: set&rowDeleted != 0, Branched: set&rowBranched != 0}
	ch.Revision.Generation = c.Uvarint()
	copy(ch.Revision.Hash[:], c.Bytes(16))
	ch.Doc = string(c.Rest)
	if c.Short || ch.Doc == "" {
		return ch, engine.ErrCorrupt
	}
	return ch, nil
}
