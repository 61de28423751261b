package inbox

import (
	"encoding/hex"
	"strconv"

	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/kv/value"
)

// A refused document is kept with its path as the protocol writes it, "_revisions":{"start":3,"ids":["…","…"]}, newest first.
// The path separates the document's own changes from those that others have made since.

// appendPath adds a path to a document that has other members, as far as a tree may know it.
func appendPath(doc []byte, path []rev.ID) []byte {
	if len(path) < 2 {
		return doc // it is the first, or a new edit
	}
	ids := make([]string, 0, table.RevsLimit)
	for _, rev := range path[:min(len(path), table.RevsLimit)] {
		ids = append(ids, hex.EncodeToString(rev.Hash[:]))
	}
	val := table.AppendMember([]byte{'{'}, "start", strconv.AppendUint(nil, path[0].Generation, 10))
	val = append(table.AppendMember(val, "ids", value.Texts(ids...)), '}')
	return append(table.AppendMember(doc[:len(doc)-1], "_revisions", val), '}')
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
	start := table.IntOf(revisions.Member("start"))
	for i, hash := range keys.Texts(revisions.Member("ids")) {
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
		if rev == st.Revision {
			return st.Decode(k)
		}
		if d, err := table.KeptDoc(o.View, k, st.ID, rev); err != nil || d != nil {
			return d, err
		}
	}
	return nil, nil
}
