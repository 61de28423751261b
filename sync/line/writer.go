package line

import (
	"context"
	"io"

	"doorward/sync/transit"
)

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
	w.buf = appendJSON(w.buf, Mark{Upto: orBeginning(upto), Count: w.count})
	return w.flush()
}

// Foot writes the last line.
func (w *Writer) Foot(last transit.Sequence) error {
	w.buf = appendJSON(w.buf, Foot{Last: orBeginning(last), Count: w.count})
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
