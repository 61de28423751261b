package input

import (
	"cmp"
	"errors"
	"io"
	"sort"

	"doorward/kv/entry"
	"doorward/kv/merge"

	"github.com/go-json-experiment/json/jsontext"
)

// Batch is a body of _bulk_docs that was read to its end, with the places of its documents. It is JSON; what is in a document may be none.
type Batch struct {
	NewEdits bool
	Together bool // all documents or none
	body     *Spool
	docs     []span
	apart    []apart       // in the order of the body
	deep     map[int]int64 // documents that are too deep, and where they become so
}

// span is where a value lies.
type span struct{ from, to int64 }

// apart is a value of a document that is read by itself.
type apart struct {
	span
	doc   int
	large bool // it makes its document too large; otherwise it is an attachment's
}

// attachments is the member of a document whose bytes are read by themselves. Texts up to apartFrom are not worth it.
const (
	attachments = "_attachments"
	apartFrom   = 1 << 10
)

// ReadBatch reads a body to its end into a Spool. It returns a *Fault for a body that is no JSON, ErrShape, ErrItems, or what has ended the reading.
func ReadBatch(from io.Reader, body *Spool) (*Batch, error) {
	r := &batchReader{Batch: Batch{NewEdits: true, body: body}}
	r.scan = NewScanner(r.found)
	err := body.Fill(from, r.scan.Scan)
	if err == nil {
		err = r.scan.End()
	}
	if err == nil && !r.given {
		err = ErrShape
	}
	if wrong, is := errors.AsType[syntaxError](err); is {
		fault, failed := faultAt(body, "body", 0, r.scan.At(), string(wrong), ErrJSON)
		return nil, cmp.Or(failed, fault)
	}
	return &r.Batch, err
}

// batchReader reads a Batch.
type batchReader struct {
	Batch
	scan  *Scanner
	given bool  // there is a list of documents
	items Items // documents, and attachments that are read by themselves
}

// found takes note of a value.
func (r *batchReader) found(v *Found) error {
	if v.Depth == 1 && !r.scan.isNamed(1, "docs") {
		r.scan.Deep = -1 // what is too deep is of no document
	}
	switch {
	case v.Depth == 0 && v.Kind != '{':
		return ErrShape
	case v.Depth == 1 && r.scan.isNamed(1, "docs"):
		r.given = true
		if v.Kind != '[' {
			return ErrShape
		}
	case v.Depth == 1 && r.scan.isNamed(1, "new_edits"):
		if r.NewEdits = v.Kind == 't'; !r.NewEdits && v.Kind != 'f' {
			return ErrShape
		}
	case v.Depth == 1 && r.scan.isNamed(1, "all_or_nothing"):
		r.Together = v.Kind == 't'
	case v.Depth < 2 || !r.scan.isNamed(1, "docs") || r.scan.kinds[1] != '[':
	case v.Depth == 2:
		return r.document(v)
	case v.Depth == 3 && v.Size() > MaxValue && r.scan.kinds[2] == '{' && !r.scan.isNamed(3, attachments):
		r.apart = append(r.apart, apart{span{v.From, v.To}, len(r.docs), true}) // what names the document may follow
	case v.Depth == 5 && v.Size() > apartFrom && v.Kind == '"' && r.scan.kinds[2] == '{' && r.scan.kinds[4] == '{' && r.scan.isNamed(3, attachments):
		r.apart = append(r.apart, apart{span{v.From, v.To}, len(r.docs), false})
		return r.items.Add(1)
	}
	return nil
}

// document takes note of a document.
func (r *batchReader) document(v *Found) error {
	if r.scan.Deep >= 0 {
		if r.deep == nil {
			r.deep = map[int]int64{}
		}
		r.deep[len(r.docs)] = r.scan.Deep
	}
	r.scan.Deep = -1
	r.docs = append(r.docs, span{v.From, v.To})
	return r.items.Add(1)
}

// Len is how many documents there are.
func (b *Batch) Len() int { return len(b.docs) }

// Document returns a document to read.
func (b *Batch) Document(i int) *Document {
	first := sort.Search(len(b.apart), func(n int) bool { return b.apart[n].doc >= i })
	last := first + sort.Search(len(b.apart)-first, func(n int) bool { return b.apart[first+n].doc > i })
	d := &Document{span: b.docs[i], body: b.body, apart: b.apart[first:last], deep: -1}
	if at, is := b.deep[i]; is {
		d.deep = at
	}
	d.size = d.to - d.from
	for _, v := range d.apart {
		if !v.large {
			d.size -= v.to - v.from
		}
	}
	return d.Rewind()
}

// Document is a document of a Batch. Values that are read by themselves are "" in it.
type Document struct {
	span
	body  *Spool
	apart []apart
	deep  int64 // where it becomes too deep; -1: it does not
	size  int64 // without its attachments
	at    int64 // of the next byte
	next  int   // the next of apart
	quote int   // bytes of the "" that are left
	seen  seen  // the value that Apart has looked at last
	err   error // of the body
}

// seen is how far a Document was looked at.
type seen struct {
	apart  int
	at     int64 // the place in the body
	offset int64 // the place in what was read
}

// Size is how many bytes the document has without its attachments.
func (d *Document) Size() int64 { return d.size }

// Known returns what is known to be wrong with the document before it is read: it is too large, too deep, or no object.
func (d *Document) Known() (fault, failed error) {
	var first [1]byte
	_, err := d.body.ReadAt(first[:], d.from)
	switch {
	case err != nil:
		return nil, err
	case d.size > MaxValue:
		return entry.ErrTooLarge, nil
	case first[0] != '{':
		return d.faultAt(d.from, "expected an object", ErrShape)
	case d.deep >= 0:
		return d.faultAt(d.deep, "more than 1000 levels deep", merge.ErrDocument)
	}
	return nil, nil
}

// Rewind begins at the document's first byte.
func (d *Document) Rewind() *Document {
	d.at, d.next, d.quote = d.from, 0, 0
	d.seen = seen{at: d.from}
	return d
}

// Read reads the document.
func (d *Document) Read(p []byte) (n int, err error) {
	for n < len(p) {
		end := d.to
		if d.next < len(d.apart) {
			end = d.apart[d.next].from
		}
		switch {
		case d.quote > 0:
			p[n] = '"'
			n++
			if d.quote--; d.quote == 0 {
				d.at, d.next = d.apart[d.next].to, d.next+1
			}
		case d.at < end:
			some, err := d.body.ReadAt(p[n:n+int(min(int64(len(p)-n), end-d.at))], d.at)
			n, d.at = n+some, d.at+int64(some)
			if err != nil {
				d.err = err
				return n, err
			}
		case d.next < len(d.apart):
			d.quote = 2
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
	return n, nil
}

// Apart returns what is between the quotes of a value that is read by itself: the one that ends at an offset of what was read. It returns nil if that
// value is in the document. Offsets are asked for in their order.
func (d *Document) Apart(offset int64) io.Reader {
	s := &d.seen
	for s.apart < len(d.apart) {
		v := d.apart[s.apart]
		end := s.offset + v.from - s.at + 2
		if end > offset {
			return nil
		}
		*s = seen{s.apart + 1, v.to, end}
		if end == offset {
			return io.NewSectionReader(d.body, v.from+1, v.to-v.from-2)
		}
	}
	return nil
}

// place returns the place in the body of an offset of what was read.
func (d *Document) place(offset int64) int64 {
	at := d.from
	for _, v := range d.apart {
		if offset <= v.from-at {
			break
		}
		offset -= v.from - at + 2
		at = v.to
	}
	return at + max(offset, 0)
}

// Fault returns what is wrong with the document if err is what reading it has returned, and otherwise the error of the body. Both are nil for a nil err.
func (d *Document) Fault(err error) (fault, failed error) {
	if err == nil {
		return nil, nil
	}
	at, reason, ok := reasonOf(err)
	switch {
	case d.err != nil:
		return nil, d.err
	case ok && errors.Is(err, jsontext.ErrDuplicateName):
		return d.faultAt(d.place(at), reason, merge.ErrDocument)
	case ok:
		return d.faultAt(d.place(at), reason, ErrJSON)
	case errors.Is(err, ErrTooLarge):
		return entry.ErrTooLarge, nil
	}
	return nil, err
}

func (d *Document) faultAt(at int64, reason string, err error) (fault, failed error) {
	return faultAt(d.body, "document", d.from, at, reason, err)
}
