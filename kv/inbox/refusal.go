package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/kv/value"
)

// KeepRefusal keeps one. Where more of a key is refused than is kept, that is said once, and kept tells that the document is not there.
func KeepRefusal(o *table.Tx, p auth.Principal, db string, in *merge.DocWrite, f *auth.Forbidden) (kept bool, err error) {
	if !table.OfRecords(db) || f.Reason == merge.WasErased {
		return false, nil // of a free database its clients alone know what a document is worth
	}
	if k, id, ok := record.ParseDocID(in.ID); ok {
		if gone, err := table.IsErased(o.View, k, id); err != nil || gone {
			return false, err
		}
	}
	doc := wholeDoc(in)
	sum := sha256.Sum256(append([]byte(db+"\x00"), doc...)) // of the document alone: how much its path tells depends on the way that it came
	id := record.FromULID(ulid.ULID(sum[:16]))
	doc = appendPath(doc, in.Path)
	if st, err := o.LoadAny(record.Refusal, id); err != nil || st != nil {
		return err == nil, err
	}
	ok, first, err := table.Spend(o, p.Key(), o.Store.Rules.Limits.Refusals, len(doc))
	if err != nil || !ok && !first {
		return false, err
	}
	if !ok {
		id, doc = table.NewFactID(o.Now), wholeDoc(&merge.DocWrite{ID: in.ID})
		f = table.Refused("more of what the key brings is refused than is kept").(*auth.Forbidden)
	}
	d := record.Refusal.NewDoc()
	d.Set("db", value.Quote(db))
	d.Set("doc", doc)
	d.Set("reason", value.Quote(f.Error()))
	if p.Key() != 0 {
		d.Set("key_id", value.Number(p.Key()))
	}
	d.Set("at", value.Time(o.Now))
	_, err = o.Write(table.Edit{Kind: record.Refusal, ID: id, Is: d})
	return ok && err == nil, err
}

// nameOf is named of a refused document.
func nameOf(doc record.Body) *merge.DocWrite {
	revision, _ := rev.Parse(value.Unquote(doc.Member("_rev"))) // zero where it has none
	return (&merge.DocWrite{ID: value.Unquote(doc.Member("_id")), Path: []rev.ID{revision}}).Named()
}

// wholeDoc is a document with its id and revision: of a new edit the one that it changes.
func wholeDoc(in *merge.DocWrite) []byte {
	doc := value.AppendMember([]byte{'{'}, "_id", value.Quote(in.ID))
	switch {
	case len(in.Path) > 0:
		doc = value.AppendMember(doc, "_rev", value.Quote(in.Path[0].String()))
	case in.Parent != rev.ID{}:
		doc = value.AppendMember(doc, "_rev", value.Quote(in.Parent.String()))
	}
	if in.Deleted {
		doc = value.AppendMember(doc, "_deleted", []byte("true"))
	}
	if len(in.Content) > len("{}") {
		doc = append(append(doc, ','), in.Content[1:len(in.Content)-1]...)
	}
	return append(doc, '}')
}

// PurgeRefusal removes a refusal from the file without a tombstone.
func PurgeRefusal(o *table.Tx, id record.ID) error {
	st, err := o.LoadAny(record.Refusal, id)
	if err != nil || st == nil {
		return err // nil: another visit has been here
	}
	if err := table.NoteReleased(o); err != nil {
		return err
	}
	return merge.Purge(o, record.Refusal, st)
}

// A refused document is kept with its path as the protocol writes it, "_revisions":{"start":3,"ids":["…","…"]}, newest first.
// The path separates the document's own changes from those that others have made since.

// appendPath adds a path to a document that has other members. It adds at most as many revisions as a tree may have.
func appendPath(doc []byte, path []rev.ID) []byte {
	if len(path) < 2 {
		return doc // it is the first, or a new edit
	}
	ids := make([]string, 0, table.RevsLimit)
	for _, rev := range path[:min(len(path), table.RevsLimit)] {
		ids = append(ids, hex.EncodeToString(rev.Hash[:]))
	}
	val := value.AppendMember([]byte{'{'}, "start", strconv.AppendUint(nil, path[0].Generation, 10))
	val = append(value.AppendMember(val, "ids", value.Texts(ids...)), '}')
	return append(value.AppendMember(doc[:len(doc)-1], "_revisions", val), '}')
}

// pathBefore are the revisions that a refused document was made of, the nearest first.
func pathBefore(doc record.Body) (path []rev.ID) {
	whole := doc.Member("_revisions")
	if len(whole) < 2 {
		if rev, ok := rev.Parse(value.Unquote(doc.Member("_rev"))); ok {
			path = append(path, rev) // of a new edit; the name of any other is not known here
		}
		return path
	}
	revisions := record.Body{Shown: whole[1 : len(whole)-1]}
	start := value.Int(revisions.Member("start"))
	for i, hash := range value.ReadTexts(revisions.Member("ids")) {
		if rev, ok := rev.Parse(strconv.FormatInt(start-int64(i), 10) + "-" + hash); ok && i > 0 {
			path = append(path, rev)
		}
	}
	return path
}

// baseOfRefused returns the document that a refused one was made of: the nearest revision before it with a body that is held.
// It returns nil if there is none.
func baseOfRefused(o *table.Tx, k *record.Kind, st *table.Stored, doc record.Body) (*record.Doc, error) {
	for _, rev := range pathBefore(doc) {
		if d, err := table.DocOf(o.View, k, st, rev); err != nil || d != nil {
			return d, err
		}
	}
	return nil, nil
}
