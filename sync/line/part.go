package line

import (
	"encoding/json"
	"strings"

	"doorward/kv"

	"github.com/go-json-experiment/json/jsontext"
)

// MediaType returns a content type that a header can hold. The default is that of plain bytes.
func MediaType(media string) string {
	if media == "" || strings.ContainsAny(media, "\r\n") {
		return "application/octet-stream"
	}
	return media
}

// Part is an attachment of a document that was read.
type Part struct {
	kv.Attachment
	ClaimedDigest string // of the document; "" = it says none
	ClaimedLength int64  // of the document; 0 = it says none
	Packed        bool   // the bytes are compressed, and the digest is of these
	Stub          bool   // the receiver has the bytes
	Follows       bool   // the bytes come after the document
	Data          []byte // the bytes as base64 in quotes, if the line has them
}

// ReadMember reads a member of an attachment. It ignores one that it cannot read.
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

// Find returns the attachment that a stub stands for, or nil.
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
