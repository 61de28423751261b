package sync

import (
	"bufio"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/value"
	"doorward/sync/line"
	"doorward/sync/transit"

	"github.com/go-json-experiment/json/jsontext"
)

// stream is an answer that is sent while it is made. After the first error it drops everything; end returns the error.
type stream struct {
	call   *call
	buf    *bufio.Writer
	packer compressor // nil: not compressed
	free   *sync.Pool // where packer goes in the end
	err    error
}

// revision writes lead as it is, then rev as a JSON string.
func (s *stream) revision(lead string, rev rev.ID) {
	s.text(lead)
	s.keep(s.buf.Write(transit.AppendRev(s.buf.AvailableBuffer(), rev)))
}

// compressor compresses what is written to it.
type compressor interface {
	io.Writer
	Flush() error
	Close() error
	Reset(w io.Writer)
}

// compressors keeps the compressors that no answer uses now. A new one takes a megabyte, which is more than most answers.
type compressors struct {
	gzip  sync.Pool
	lines sync.Pool
}

func newCompressors() *compressors {
	p := &compressors{}
	p.gzip.New = func() any {
		z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a valid level
		return z
	}
	p.lines.New = func() any { return line.Compress(nil) }
	return p
}

// compress compresses what follows. An answer to HEAD has no body.
func (s *stream) compress(free *sync.Pool) {
	if s.call.request.Method == http.MethodHead {
		return
	}
	s.packer, s.free = free.Get().(compressor), free
	s.packer.Reset(idleWriter{s.call})
	s.buf.Reset(s.packer)
}

// streamBuffer is how much is collected before it is sent.
const streamBuffer = 32 << 10

// idleWriter gives each write of an answer a deadline.
type idleWriter struct{ c *call }

// clientError marks an error of writing as the client's.
func clientError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errClientGone, err)
}

// Write writes with a deadline.
func (w idleWriter) Write(p []byte) (int, error) {
	limitWrite(w.c)
	defer unlimitWrite(w.c)
	n, err := w.c.ResponseWriter.Write(p)
	return n, clientError(err)
}

// compression says whether to compress an answer if the client takes it. An answer that is flushed often gains nothing.
type compression bool

const (
	compressed   compression = true
	uncompressed compression = false
)

// begin begins an answer of JSON.
func (c *call) begin(p compression) *stream {
	return c.beginAs("application/json", http.StatusOK, p)
}

func (c *call) beginAs(media string, status int, p compression) *stream {
	h := c.Header()
	h.Set("Content-Type", media)
	s := &stream{call: c, buf: bufio.NewWriterSize(idleWriter{c}, streamBuffer)}
	if c.request.Method == http.MethodHead {
		s.buf.Reset(io.Discard)
	}
	if p {
		h.Add("Vary", "Accept-Encoding")
		if value.AcceptsGzip(c.request.Header.Values("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			s.compress(&c.server.packers.gzip)
		}
	}
	c.began = true
	c.WriteHeader(status)
	return s
}

// Write writes bytes as they are.
func (s *stream) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	_, s.err = s.buf.Write(p)
	return len(p), s.err
}

func (s *stream) text(text string) { s.keep(s.buf.WriteString(text)) }

func (s *stream) keep(_ int, err error) {
	if s.err == nil {
		s.err = err
	}
}

// comma writes a comma before each item of a list but the first.
func (s *stream) comma(item int) {
	if item > 0 {
		s.text(",")
	}
}

// quoted writes lead as it is, then text as a JSON string.
func (s *stream) quoted(lead, text string) {
	s.text(lead)
	b, _ := jsontext.AppendQuote(s.buf.AvailableBuffer(), text) // what is no UTF-8 becomes what is
	s.keep(s.buf.Write(b))
}

// problem writes the last members of an object that tells of a problem.
func (s *stream) problem(p problem) {
	s.quoted(`,"error":`, p.Error)
	s.quoted(`,"reason":`, p.Reason)
}

// number writes lead as it is, then a number.
func (s *stream) number(lead string, n int64) {
	s.text(lead)
	s.keep(s.buf.Write(strconv.AppendInt(s.buf.AvailableBuffer(), n, 10)))
}

// flush sends what there is, because the client waits.
func (s *stream) flush() {
	s.keep(0, s.buf.Flush())
	if s.packer != nil {
		s.keep(0, s.packer.Flush())
	}
	if s.err == nil {
		limitWrite(s.call)
		defer unlimitWrite(s.call)
		s.err = clientError(http.NewResponseController(s.call.ResponseWriter).Flush())
	}
}

// end sends the rest.
func (s *stream) end() error {
	s.keep(0, s.buf.Flush())
	if s.packer != nil {
		s.keep(0, s.packer.Close())
		s.packer.Reset(nil)
		s.free.Put(s.packer)
		s.packer = nil
	}
	return s.err
}

// show says what an answer has of a document beside its body.
type show struct {
	revs, revsInfo                   bool
	conflicts, deletedConflicts, seq bool
	attachments                      bool     // with their bytes
	since                            []rev.ID // leaves out attachments that one of these has
	follow                           bool     // the bytes follow in parts of their own
}

// showOf reads a show from the parameters of a request.
func showOf(q *query) show {
	meta := q.flag("meta")
	since := q.revisions("atts_since")
	return show{
		revs: q.flag("revs"), revsInfo: q.flag("revs_info") || meta,
		conflicts: q.flag("conflicts") || meta, deletedConflicts: q.flag("deleted_conflicts") || meta, seq: q.flag("local_seq"),
		attachments: q.flag("attachments") || since != nil, since: since,
	}
}

// tellsMore tells whether an answer says of a revision what changes without it: other leaves, which bodies are kept, the sequence.
func (w show) tellsMore() bool {
	return w.revsInfo || w.conflicts || w.deletedConflicts || w.seq
}

// document writes one revision of a document.
func (s *stream) document(doc *docs.Doc, r *docs.DocRevision, w show) {
	s.quoted(`{"_id":`, doc.ID)
	s.revision(`,"_rev":`, r.Revision)
	if r.Deleted {
		s.text(`,"_deleted":true`)
	}
	if w.revs {
		s.revisions(doc.Tree.Path(r.Revision))
	}
	if w.revsInfo {
		s.revsInfo(&doc.Tree, r.Revision)
	}
	if w.conflicts {
		s.revisionList(`,"_conflicts":`, doc.Tree.Conflicts())
	}
	if w.deletedConflicts {
		s.revisionList(`,"_deleted_conflicts":`, doc.Tree.DeletedConflicts())
	}
	if w.seq {
		s.text(`,"_local_seq":"` + s.call.store().Tables.Epochs.SeqText(doc.Seq) + `"`)
	}
	s.attachments(doc, r, w)
	if len(r.Body) > len("{}") {
		s.text(",")
		_, _ = s.Write(r.Body[1:]) // the stream keeps the error
	} else {
		s.text("}")
	}
	s.call.server.metrics.sent.Inc()
}

// revisions writes a path as _revisions.
func (s *stream) revisions(path []rev.ID) {
	if len(path) == 0 {
		return // the tree was pruned since
	}
	s.number(`,"_revisions":{"start":`, int64(path[0].Generation))
	s.text(`,"ids":[`)
	for i, rev := range path {
		s.comma(i)
		s.quoted("", rev.HashText())
	}
	s.text("]}")
}

func (s *stream) revsInfo(tree *rev.Tree, of rev.ID) {
	s.text(`,"_revs_info":[`)
	for i, rev := range tree.Path(of) {
		s.comma(i)
		status := "missing"
		switch n := tree.Find(rev); {
		case n.Deleted && n.Held:
			status = "deleted"
		case n.Held:
			status = "available"
		}
		s.revision(`{"rev":`, rev)
		s.text(`,"status":"` + status + `"}`)
	}
	s.text("]")
}

// revisionList writes a list of revisions, unless it is empty.
func (s *stream) revisionList(member string, nodes []rev.Node) {
	if len(nodes) == 0 {
		return
	}
	s.text(member + "[")
	for i, n := range nodes {
		s.comma(i)
		s.revision("", n.Revision)
	}
	s.text("]")
}

// attachments writes the attachments of a revision.
func (s *stream) attachments(doc *docs.Doc, r *docs.DocRevision, w show) {
	if len(r.Attachments) == 0 {
		return
	}
	s.text(`,"_attachments":{`)
	known := w.knownGeneration(doc, r.Revision)
	for i, a := range r.Attachments {
		s.comma(i)
		s.quoted("", a.Name)
		s.quoted(`:{"content_type":`, a.Type)
		s.number(`,"revpos":`, int64(a.RevPos))
		s.text(`,"digest":"` + a.Digest() + `"`)
		switch {
		case !w.attachments || a.RevPos <= known:
			s.number(`,"length":`, a.Length)
			s.text(`,"stub":true}`)
		case w.follow:
			s.number(`,"length":`, a.Length)
			s.text(`,"follows":true}`)
		default:
			s.text(`,"data":"`)
			s.base64(a)
			s.text(`"}`)
		}
	}
	s.text("}")
}

// knownGeneration returns the generation up to which a client has all attachments, by its atts_since.
func (w show) knownGeneration(doc *docs.Doc, rev rev.ID) (generation uint64) {
	if len(w.since) == 0 {
		return 0
	}
	for _, r := range doc.Tree.Path(rev) {
		if slices.Contains(w.since, r) {
			return r.Generation
		}
	}
	return 0
}

// base64 writes an attachment's bytes.
func (s *stream) base64(a merge.Attachment) {
	enc := base64.NewEncoder(base64.StdEncoding, s)
	if err := s.call.db.Blob(a.SHA256, enc); err != nil {
		s.keep(0, err)
		return
	}
	s.keep(0, enc.Close())
}
