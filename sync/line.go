package sync

import (
	"encoding/json"
	"strconv"

	"doorward/kv"

	"github.com/go-json-experiment/json/jsontext"
)

// Lines are how our own nodes and files hold revisions: one JSON object a line, compressed with zstd. The first says where they
// come from, the last how far they go; without it they were cut off.
//
//	{"format":1,"realm":…,"node":…,"epoch":…,"db":"notes","since":"0-…"}
//	{"seq":"7-…","doc":{"_id":…,"_rev":…,"_deleted":true,"_attachments":{…stubs},…},"revs":["3-…","2-…"],"author":{…},"scopes":[…]}
//	{"last_seq":"7-…","count":1}
//
// author is {at,key,node,fields}: microseconds since 1970, the api key's number at that node, its ULID, the names of fields.
// Members that are not known stay out.

// lineFormat is the number of this form of lines.
const lineFormat = 1

// Head is the first line: whose revisions follow.
type Head struct {
	Format int             `json:"format"`
	Realm  string          `json:"realm,omitempty"`
	Node   string          `json:"node,omitempty"`
	Epoch  string          `json:"epoch,omitempty"`
	DB     string          `json:"db,omitempty"`
	Since  json.RawMessage `json:"since,omitempty"`
}

// foot is the last line.
type foot struct {
	Last  sequence `json:"last_seq"`
	Count int      `json:"count"`
}

// line is any of them, as it was read.
type line struct {
	seq     sequence
	replica *replica // nil: none, or one that is not a document of ours
	head    *Head
	foot    *foot
}

// appendJSON writes a line of a small value.
func appendJSON(dst []byte, v any) []byte {
	b, _ := json.Marshal(v) // what is written here can be
	return append(append(dst, b...), '\n')
}

// appendLine writes a revision's line; its attachments' bytes are elsewhere.
func (x *replica) appendLine(dst []byte, seq sequence) []byte {
	dst, _ = x.appendLineWith(dst, seq, appendStub) // stubs cannot fail
	return dst
}

// appendLineWith is appendLine with what is said of an attachment.
func (x *replica) appendLineWith(dst []byte, seq sequence, content func([]byte, *part) ([]byte, error)) (_ []byte, err error) {
	dst = append(append(dst, `{"seq":`...), seq...)
	dst, _ = jsontext.AppendQuote(append(dst, `,"doc":{"_id":`...), x.id) // what is no UTF-8 becomes what is
	dst = append(append(append(dst, `,"_rev":"`...), x.rev().String()...), '"')
	if x.deleted {
		dst = append(dst, `,"_deleted":true`...)
	}
	if dst, err = x.appendParts(dst, content); err != nil {
		return nil, err
	}
	dst = append(appendMembers(dst, x.body), `,"revs":[`...)
	for i, rev := range x.path {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), rev.String()...), '"')
	}
	dst = append(dst, ']')
	dst = x.author.append(dst)
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
func (a *author) append(dst []byte) []byte {
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

// readLine reads the line that comes next: errJSON where there is none.
func readLine(dec *jsontext.Decoder) (l line, err error) {
	d := &incoming{body: []byte{'{'}}
	var who author
	var scopes []string
	err = eachMember(dec, func(name string) (err error) {
		switch name {
		case "doc":
			return eachMember(dec, func(name string) error { return d.readMember(dec, name) })
		case "revs":
			list, err := texts(dec)
			d.path = parseRevisions(list)
			return err
		case "scopes":
			scopes, err = texts(dec)
			return err
		}
		v, err := dec.ReadValue()
		if err == nil {
			err = l.special(name, v, &who)
		}
		return badBody(err)
	})
	if err == nil && l.seq != nil {
		if l.replica = d.replica(); l.replica != nil {
			l.replica.author, l.replica.scopes = who, scopes
		}
	}
	return l, err
}

// special reads a small member.
func (l *line) special(name string, v jsontext.Value, who *author) error {
	switch name {
	case "seq":
		l.seq = sequence(v.Clone())
		return nil
	case "author":
		return json.Unmarshal(v, who)
	case "format":
		l.head = &Head{}
		return json.Unmarshal(v, &l.head.Format)
	case "last_seq":
		l.foot = &foot{Last: sequence(v.Clone())}
		return nil
	case "count":
		if l.foot != nil {
			return json.Unmarshal(v, &l.foot.Count)
		}
	}
	if l.head == nil {
		return nil
	}
	to := map[string]any{"realm": &l.head.Realm, "node": &l.head.Node, "epoch": &l.head.Epoch, "db": &l.head.DB, "since": &l.head.Since}[name]
	if to == nil {
		return nil
	}
	return json.Unmarshal(v, to)
}

// Lines of one change follow one another; a batch ends between two changes.
const (
	carriedRows  = 1000
	carriedBytes = 2 << 20
)

// gathering makes batches of lines.
type gathering struct {
	batch    *batch
	bytes    int
	anywhere bool // the lines have no places: a batch may end between any two
	fn       func(*batch) error
}

func newGathering(fn func(*batch) error) *gathering {
	return &gathering{batch: &batch{carried: true}, fn: fn}
}

// add adds a line; before one of another change a batch that is full goes on.
func (g *gathering) add(l *line) error {
	b := g.batch
	full := len(b.replicas) >= carriedRows || g.bytes >= carriedBytes
	if full && (g.anywhere || string(b.upto) != string(l.seq)) {
		if err := g.flush(); err != nil {
			return err
		}
		b = g.batch
	}
	b.upto = l.seq
	x := l.replica
	if x == nil {
		return nil
	}
	if n := len(b.offers); n > 0 && b.offers[n-1].ID == x.id {
		b.offers[n-1].Revisions = append(b.offers[n-1].Revisions, x.rev())
	} else {
		b.offers = append(b.offers, kv.Revs{ID: x.id, Revisions: x.path[:1:1]})
	}
	b.replicas = append(b.replicas, x)
	g.bytes += x.size()
	return nil
}

// flush lets go of what there is.
func (g *gathering) flush() error {
	b := g.batch
	g.batch, g.bytes = &batch{carried: true}, 0
	if b.upto == nil {
		return nil
	}
	return g.fn(b)
}
