package line

import (
	"context"
	"encoding/json"
	"io"
	"strconv"

	"doorward/sync/transit"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"
)

// Format is the version of this form of lines.
const Format = 1

// Head is the first line: which database the lines are of.
type Head struct {
	Format int             `json:"format"`
	Realm  string          `json:"realm,omitempty"`
	Node   string          `json:"node,omitempty"`
	Epoch  string          `json:"epoch,omitempty"`
	DB     string          `json:"db,omitempty"`
	Since  json.RawMessage `json:"since,omitempty"`
}

// mark is a line between two changes, or the last one.
type mark struct {
	Upto  transit.Sequence `json:"upto,omitzero"`
	Last  transit.Sequence `json:"last_seq,omitzero"` // of the last line
	Count int              `json:"count"`
}

// Line is any line, as it was read.
type Line struct {
	Seq      transit.Sequence
	Revision *transit.Revision // nil: the line has none, or it cannot be read
	Removed  string            // a document that has left the database; "" = none
	Head     *Head
	Mark     transit.Sequence // the place of a line between two changes; nil = it is another line
	last     transit.Sequence // the place of the last line; nil = it is another line
	count    int              // of a mark or of the last line
}

// appendJSON appends a small value as a line.
func appendJSON(dst []byte, v any) []byte {
	b, _ := json.Marshal(v) // what is written here can be
	return append(append(dst, b...), '\n')
}

// AppendLine appends a revision as a line. Attachments are stubs.
func AppendLine(dst []byte, x *transit.Revision) []byte {
	dst, _ = appendLineWith(dst, x, nil) // stubs cannot fail
	return dst
}

// appendLineWith is AppendLine with another content of attachments.
func appendLineWith(dst []byte, x *transit.Revision, content func([]byte, *transit.Part) ([]byte, error)) (_ []byte, err error) {
	dst = append(append(dst, `{"seq":`...), orBeginning(x.Seq)...)
	dst, _ = jsontext.AppendQuote(append(dst, `,"doc":{"_id":`...), x.ID) // what is no UTF-8 becomes what is
	dst = transit.AppendRev(append(dst, `,"_rev":`...), x.Rev())
	if x.Deleted {
		dst = append(dst, `,"_deleted":true`...)
	}
	if dst, err = x.AppendMembers(dst, content); err != nil {
		return nil, err
	}
	dst = append(dst, `,"revs":[`...)
	for i, rev := range x.Path {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = transit.AppendRev(dst, rev)
	}
	dst = append(dst, ']')
	dst = appendAuthor(dst, &x.Author)
	for i, s := range x.Scopes {
		dst = append(dst, [2]string{`,"scopes":[`, ","}[min(i, 1)]...)
		dst, _ = jsontext.AppendQuote(dst, s) // as above
	}
	if len(x.Scopes) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, "}\n"...), nil
}

// appendAuthor appends an author, if one is known.
func appendAuthor(dst []byte, a *transit.Author) []byte {
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

// maxWindow is how much memory the sender's compression may need.
const maxWindow = 8 << 20

// Compress compresses lines.
func Compress(w io.Writer) *zstd.Encoder {
	z, _ := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20)) // the options are good
	return z
}

// Decompress decompresses lines. The first Read returns an error if they are not zstd.
func Decompress(r io.Reader) *zstd.Decoder {
	z, _ := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow)) // the options are good
	return z
}

// Media is the content type of lines.
const Media = "application/x-ndjson"

// Writer writes lines, and counts them for the marks.
type Writer struct {
	to    io.Writer
	buf   []byte // the lines since the last mark
	count int
}

// NewWriter writes lines to a stream.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Head writes the first line.
func (w *Writer) Head(h Head) error {
	h.Format = Format
	w.buf = appendJSON(w.buf, h)
	return w.flush()
}

// Add adds a revision; its attachments' bytes are elsewhere.
func (w *Writer) Add(x *transit.Revision) {
	w.buf = AppendLine(w.buf, x)
	w.count++
}

// AddWhole adds a revision with its attachments' bytes.
func (w *Writer) AddWhole(ctx context.Context, x *transit.Revision) (err error) {
	content := func(dst []byte, p *transit.Part) ([]byte, error) { return x.AppendContent(ctx, dst, p) }
	if w.buf, err = appendLineWith(w.buf, x, content); err != nil {
		return err
	}
	w.count++
	if len(w.buf) < lineBuffer {
		return nil
	}
	return w.flush()
}

// Remove says that a document has left the database.
func (w *Writer) Remove(id string, seq transit.Sequence) {
	w.buf = appendJSON(w.buf, struct {
		Seq     transit.Sequence `json:"seq"`
		Removed string           `json:"removed"`
	}{seq, id})
	w.count++
}

// Mark ends the lines of some changes.
func (w *Writer) Mark(upto transit.Sequence) error {
	w.buf = appendJSON(w.buf, mark{Upto: orBeginning(upto), Count: w.count})
	return w.flush()
}

// Foot writes the last line.
func (w *Writer) Foot(last transit.Sequence) error {
	w.buf = appendJSON(w.buf, mark{Last: orBeginning(last), Count: w.count})
	return w.flush()
}

func (w *Writer) flush() error {
	_, err := w.to.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// orBeginning returns the beginning for nil.
func orBeginning(s transit.Sequence) transit.Sequence {
	if s == nil {
		return transit.Sequence("0")
	}
	return s
}
