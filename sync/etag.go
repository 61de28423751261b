package sync

import (
	"net/http"
	"strings"

	"doorward/kv/record"
	"doorward/sync/line"
)

// revision writes a revision as a JSON text.
func (s *stream) revision(rev record.Revision) {
	s.keep(s.buf.Write(line.AppendRevision(s.buf.AvailableBuffer(), rev)))
}

// etag is a revision as a header tells it; "" for one that no header can.
func etag(rev record.Revision) string {
	text := rev.String()
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' }) {
		return ""
	}
	return `"` + text + `"`
}

// setEtag tells a revision in the answer's header.
func (c *call) setEtag(rev record.Revision) (tag string) {
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
