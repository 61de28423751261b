package sync

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/rev"
)

// appendRevision appends a revision as a JSON text. The hash of a free document's revision may be any text.
func appendRevision(dst []byte, rev rev.ID) []byte {
	return appendHash(dst, rev, rev.String())
}

// appendHash appends a revision's own text, which needs no escapes where its hash is of hex digits.
func appendHash(dst []byte, rev rev.ID, text string) []byte {
	if rev.Text == "" {
		return append(append(append(dst, '"'), text...), '"')
	}
	dst, _ = jsontext.AppendQuote(dst, text) // it is UTF-8
	return dst
}

// revision writes a revision as a JSON text.
func (s *stream) revision(rev rev.ID) {
	s.keep(s.buf.Write(appendRevision(s.buf.AvailableBuffer(), rev)))
}

// etag is a revision as a header tells it; "" for one that no header can.
func etag(rev rev.ID) string {
	text := rev.String()
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' }) {
		return ""
	}
	return `"` + text + `"`
}

// setEtag tells a revision in the answer's header.
func (c *call) setEtag(rev rev.ID) (tag string) {
	if tag = etag(rev); tag != "" {
		c.Header().Set("Etag", tag)
	}
	return tag
}

// isUnchanged tells that the client has what the tag names.
func (c *call) isUnchanged(tag string) bool {
	return tag != "" && c.request.Header.Get("If-None-Match") == tag
}

// notModified answers that the client has it already.
func (c *call) notModified() error {
	c.began = true
	c.WriteHeader(http.StatusNotModified)
	return nil
}
