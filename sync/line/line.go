package line

import (
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Lines are how our own nodes and files hold revisions: one JSON object a line, compressed with zstd. The first says where they
// come from, the last how far they go; without it they were cut off. Marks say how many lines of revisions and of what has left are
// before them, and so does the last line: nothing of what has come since the mark before is taken for complete until it is right.
//
//	{"format":1,"realm":…,"node":…,"epoch":…,"db":"notes","since":"0-…"}
//	{"seq":"7-…","doc":{"_id":…,"_rev":…,"_deleted":true,"_attachments":{…stubs},…},"revs":["3-…","2-…"],"author":{…},"scopes":[…]}
//	{"seq":"8-…","removed":"person:0000000000000001"}
//	{"upto":"8-…","count":2}
//	{"last_seq":"8-…","count":2}
//
// author is {at,key,node,fields}: microseconds since 1970, the api key's number at that node, its ULID, the names of fields.
// Members that are not known stay out.

// Format is the number of this form of lines.
const Format = 1

// Head is the first line: whose revisions follow.
type Head struct {
	Format int             `json:"format"`
	Realm  string          `json:"realm,omitempty"`
	Node   string          `json:"node,omitempty"`
	Epoch  string          `json:"epoch,omitempty"`
	DB     string          `json:"db,omitempty"`
	Since  json.RawMessage `json:"since,omitempty"`
}

// Mark is a line between two changes.
type Mark struct {
	Upto  Sequence `json:"upto"`
	Count int      `json:"count"`
}

// Foot is the last line.
type Foot struct {
	Last  Sequence `json:"last_seq"`
	Count int      `json:"count"`
}

// Line is any of them, as it was read.
type Line struct {
	Seq      Sequence
	Revision *Revision // nil: none, or one that is not a document of ours
	Removed  string    // the document that has left the database; "" = none
	Head     *Head
	foot     *Foot
	Mark     *Mark
	count    int // of a mark or of the last line
}

// appendJSON writes a line of a small value.
func appendJSON(dst []byte, v any) []byte {
	b, _ := json.Marshal(v) // what is written here can be
	return append(append(dst, b...), '\n')
}

// AppendLine writes a revision's line; its attachments' bytes are elsewhere.
func (x *Revision) AppendLine(dst []byte) []byte {
	dst, _ = x.appendLineWith(dst, appendStub) // stubs cannot fail
	return dst
}

// appendLineWith is AppendLine with what is said of an attachment.
func (x *Revision) appendLineWith(dst []byte, content func([]byte, *Part) ([]byte, error)) (_ []byte, err error) {
	dst = append(append(dst, `{"seq":`...), orBeginning(x.Seq)...)
	dst, _ = jsontext.AppendQuote(append(dst, `,"doc":{"_id":`...), x.ID) // what is no UTF-8 becomes what is
	dst = AppendRevision(append(dst, `,"_rev":`...), x.Rev())
	if x.Deleted {
		dst = append(dst, `,"_deleted":true`...)
	}
	if dst, err = x.appendParts(dst, content); err != nil {
		return nil, err
	}
	dst = append(appendMembers(dst, x.Body), `,"revs":[`...)
	for i, rev := range x.Path {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendRevision(dst, rev)
	}
	dst = append(dst, ']')
	dst = x.Author.append(dst)
	for i, s := range x.scopes {
		dst = append(dst, [2]string{`,"scopes":[`, ","}[min(i, 1)]...)
		dst, _ = jsontext.AppendQuote(dst, s) // as above
	}
	if len(x.scopes) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, "}\n"...), nil
}

// append writes an author, if one is known.
func (a *Author) append(dst []byte) []byte {
	if a.At == 0 && a.Node == "" {
		return dst
	}
	dst = strconv.AppendInt(append(dst, `,"author":{"at":`...), a.At, 10)
	dst = strconv.AppendInt(append(dst, `,"key":`...), a.Key, 10)
	dst, _ = jsontext.AppendQuote(append(dst, `,"node":`...), a.Node) // an ASCII text
	for i, name := range a.Fields {
		dst = append(dst, [2]string{`,"fields":[`, ","}[min(i, 1)]...)
		dst, _ = jsontext.AppendQuote(dst, name) // as above
	}
	if len(a.Fields) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}
