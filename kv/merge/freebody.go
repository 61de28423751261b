package merge

import "encoding/base64"

// MaxDoc is how many bytes the canonical JSON of a free document may have.
const MaxDoc = 8 << 20

// MaxDocDepth is how deep a document's values may lie in one another, as of a request's body: what was taken there goes to every
// other store.
const MaxDocDepth = 1000

// How many bytes a document's id may have, and the name of an attachment.
const MaxDocID = 8 << 10

// Attachment is what a document says of bytes that belong to it.
type Attachment struct {
	Name   string
	Type   string // of its content
	RevPos uint64 // generation of the revision that brought it; to WriteFree 0 = the one it makes
	Blob
}

// Blob is what names some bytes of a database. Their SHA256 is enough to find them.
type Blob struct {
	SHA256 [32]byte
	MD5    [16]byte
	Length int64
}

// Digest is the blob's name in replication: "md5-" and base64.
func (b Blob) Digest() string { return "md5-" + base64.StdEncoding.EncodeToString(b.MD5[:]) }
