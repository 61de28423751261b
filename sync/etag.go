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

// etag returns a revision for a header; "" if a header cannot hold it.
func etag(rev record.Revision) string {
	text := rev.String()
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' }) {
		return ""
	}
	return `"` + text + `"`
}

// setEtag sets the answer's header.
func (c *call) setEtag(rev record.Revision) (tag string) {
	if tag = etag(rev); tag != "" {
		c.Header().Set("Etag", tag)
	}
	return tag
}

// isUnchanged tells whether the client has the tag's version.
func (c *call) isUnchanged(tag string) bool {
	return tag != "" && c.request.Header.Get("If-None-Match") == tag
}

// notModified answers that nothing has changed.
func (c *call) notModified() error {
	c.began = true
	c.WriteHeader(http.StatusNotModified)
	return nil
}
