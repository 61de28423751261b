package table

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/record"
	"doorward/kv/value"
)

// ListedRow reads a conflict or a refusal, and one that is settled as it was before, for the file still has that; nil where it has not.
func ListedRow(v *View, listed *record.Kind, id record.ID, row []byte) (*Stored, error) {
	st := &Stored{ID: id}
	if err := st.read(listed, row); err != nil || !st.Deleted {
		return st, err
	}
	kept, err := v.Get(BodyBucket, BodyKey(listed, id, st.Before()))
	if err != nil || kept == nil {
		return nil, err
	}
	was := &Stored{ID: id}
	return was, was.ParseBody(listed, kept)
}

// ListedRecord is the record that a conflict or a refusal is about, and, where it holds one, its body or the field of it that it
// holds.
func ListedRecord(listed *record.Kind, d *record.Doc) (k *record.Kind, id record.ID, about *record.Doc) {
	if listed == record.Refusal {
		doc := d.Value("doc")
		body := record.Body{Shown: doc[1 : len(doc)-1]}
		k, id, ok := record.ParseDocID(value.Unquote(body.Member("_id")))
		if !ok {
			return nil, id, nil
		}
		about, _ = k.Decode(body) // one that cannot be read names nobody
		return k, id, about
	}
	k, ok := record.ByName(d.Text("kind"))
	if !ok {
		return nil, id, nil
	}
	id, _ = k.ParseID(d.Text("record_id")) // it was written by us
	about = k.NewDoc()
	other := d.Value("other")
	if d.Text("field") == "" && other.Kind() == jsontext.KindBeginObject {
		about, _ = k.Decode(record.Body{Shown: other[1 : len(other)-1]})
	} else if f, known := k.Field(d.Text("field")); known && f.Stored() {
		about.Set(f.Name, slices.Clone(other))
	}
	return k, id, about
}
