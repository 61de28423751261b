package line

import (
	"encoding/json"
	"strings"

	"doorward/kv"

	"github.com/go-json-experiment/json/jsontext"
)

// MediaType is a content type, or that of bytes that nobody has named.
func MediaType(media string) string {
	if media == "" || strings.ContainsAny(media, "\r\n") {
		return "application/octet-stream"
	}
	return media
}

// Part is an attachment on its way in.
type Part struct {
	kv.Attachment
	ClaimedDigest string // as the document says it; "" where it does not
	ClaimedLength int64  // how long it is, as the document says it; 0 where it does not
	Packed        bool   // the bytes come compressed: the digest is of these
	Stub          bool   // the server has the bytes
	Follows       bool   // the bytes come after the document
	Data          []byte // the bytes as base64 in quotes, where a line of a file has them
}

// ReadMember reads what a document says of an attachment. What cannot be read is as if it were not said.
func (p *Part) ReadMember(name string, v jsontext.Value) {
	switch name {
	case "content_type":
		_ = json.Unmarshal(v, &p.Type)
	case "digest":
		_ = json.Unmarshal(v, &p.ClaimedDigest)
	case "length":
		_ = json.Unmarshal(v, &p.ClaimedLength)
	case "revpos":
		_ = json.Unmarshal(v, &p.RevPos)
	case "encoding":
		p.Packed = string(v) == `"gzip"`
	case "stub":
		p.Stub = string(v) == "true"
	case "follows":
		p.Follows = string(v) == "true"
	}
}

// Find finds what a stub stands for.
func (p *Part) Find(revisions []kv.DocRevision) *kv.Attachment {
	for _, r := range revisions {
		for i, a := range r.Attachments {
			if a.Name == p.Name && (p.ClaimedDigest == "" || p.ClaimedDigest == a.Digest()) {
				return &r.Attachments[i]
			}
		}
	}
	return nil
}
