package sync

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"doorward/kv/rev"
	"doorward/sync/line"
	"doorward/sync/transit"

	"github.com/go-json-experiment/json/jsontext"
)

// revision writes a revision as a JSON text.
func (s *stream) revision(rev rev.ID) {
	s.keep(s.buf.Write(transit.AppendRev(s.buf.AvailableBuffer(), rev)))
}

// stream is an answer that is sent while it is made. After the first error it drops everything; end returns the error.
type stream struct {
	call   *call
	buf    *bufio.Writer
	packer compressor // nil: not compressed
	free   *sync.Pool // where packer goes in the end
	err    error
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
	h.Set("Cache-Control", "must-revalidate")
	s := &stream{call: c, buf: bufio.NewWriterSize(idleWriter{c}, streamBuffer)}
	if c.request.Method == http.MethodHead {
		s.buf.Reset(io.Discard)
	}
	if p {
		h.Add("Vary", "Accept-Encoding")
		if takesGzip(c.request.Header.Get("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			s.compress(&c.server.packers.gzip)
		}
	}
	c.began = true
	c.WriteHeader(status)
	return s
}

// takesGzip tells whether a client takes gzip.
func takesGzip(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, parameters, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return strings.ReplaceAll(parameters, " ", "") != "q=0"
		}
	}
	return false
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

// quoted writes a JSON text.
func (s *stream) quoted(text string) {
	b, _ := jsontext.AppendQuote(s.buf.AvailableBuffer(), text) // what is no UTF-8 becomes what is
	s.keep(s.buf.Write(b))
}

// problem writes the last members of an object that tells of a problem.
func (s *stream) problem(p problem) {
	s.text(`,"error":`)
	s.quoted(p.Error)
	s.text(`,"reason":`)
	s.quoted(p.Reason)
}

func (s *stream) number(n int64) {
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
