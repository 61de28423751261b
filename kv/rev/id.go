package rev

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ID names one revision of a record or of a free document. The zero ID names none: it is the parent of a first revision.
type ID struct {
	Generation uint64   // number of changes that made it
	Hash       [16]byte // written as 32 lower-case hex digits
	Text       string   // a hash of another form, as "a"; Hash is zero then; only free documents have one
}

// emptyText is the Text of an empty hash, as in "1-". No other text has a zero byte.
const emptyText = "\x00"

// String writes the revision as replicas do: "3-" and 32 lower-case hex digits, or "3-" and the hash's text. The zero ID is "".
func (r ID) String() string {
	var buf [53]byte
	return string(r.append(buf[:0]))
}

func (r ID) append(dst []byte) []byte {
	if r == (ID{}) {
		return dst
	}
	dst = append(strconv.AppendUint(dst, r.Generation, 10), '-')
	if r.Text != "" {
		return append(dst, r.HashText()...)
	}
	return hex.AppendEncode(dst, r.Hash[:])
}

// HashText returns the hash as replicas write it: the part of String behind "3-".
func (r ID) HashText() string {
	switch r.Text {
	case "":
		return hex.EncodeToString(r.Hash[:])
	case emptyText:
		return ""
	}
	return r.Text
}

// AppendHash appends the hash as the end of a key or row: its 16 bytes, or 16 zero bytes and its text.
func (r ID) AppendHash(dst []byte) []byte {
	return append(append(dst, r.Hash[:]...), r.Text...)
}

// SetHash reads what AppendHash wrote.
func (r *ID) SetHash(b []byte) (ok bool) {
	if len(b) < len(r.Hash) {
		return false
	}
	copy(r.Hash[:], b)
	r.Text = string(b[len(r.Hash):])
	return r.Text == "" || r.Hash == [16]byte{}
}

// Compare orders revisions as CouchDB does, by generation and then by the bytes of their hashes. It returns -1, 0 or 1. 32 hex digits
// count as 16 bytes, a hash of another form as its text. Of two live leaves the higher one wins.
func (r ID) Compare(o ID) int {
	if r.Generation != o.Generation {
		return cmp.Compare(r.Generation, o.Generation)
	}
	if r.Text == "" && o.Text == "" {
		return bytes.Compare(r.Hash[:], o.Hash[:])
	}
	return r.compareTexts(o)
}

// compareTexts compares two hashes of which at least one is a text. A text of 16 bytes can equal the bytes of hex digits; the hex
// digits are lower then.
func (r ID) compareTexts(o ID) int {
	if by := strings.Compare(r.hashBytes(), o.hashBytes()); by != 0 {
		return by
	}
	return strings.Compare(r.Text, o.Text)
}

func (r ID) hashBytes() string {
	if r.Text != "" {
		return r.Text
	}
	return string(r.Hash[:])
}

// MaxGeneration is the largest generation that is read. It leaves room for later ones.
const MaxGeneration = 1 << 53

// MaxHashText is the largest length in bytes of a hash's text.
const MaxHashText = 8 << 10

// Parse reads a record's revision as String wrote it. "" is the zero ID. ok is false for anything else.
func Parse(s string) (r ID, ok bool) {
	r, ok = ParseFree(s)
	if !ok || r.Text != "" || len(s) >= 32 && s[len(s)-32:] != strings.ToLower(s[len(s)-32:]) {
		return ID{}, false
	}
	return r, true
}

// ParseFree reads a revision of a free document. It takes any hash that CouchDB takes.
func ParseFree(s string) (r ID, ok bool) {
	if s == "" {
		return ID{}, true
	}
	generation, hash, cut := strings.Cut(s, "-")
	n, err := strconv.ParseUint(generation, 10, 64)
	if err != nil || !cut || n == 0 || n > MaxGeneration || generation[0] == '0' || generation[0] == '+' {
		return ID{}, false
	}
	return FromHash(n, hash)
}

// FromHash returns the revision of a free document with this generation and hash. A hash of 32 bytes must be hex digits, in either case.
func FromHash(generation uint64, hash string) (r ID, ok bool) {
	r.Generation = generation
	if len(hash) == 2*len(r.Hash) {
		_, err := hex.Decode(r.Hash[:], []byte(hash))
		return r, err == nil
	}
	if r.Text = hash; hash == "" {
		r.Text = emptyText
	}
	return r, len(hash) <= MaxHashText && utf8.ValidString(hash) && strings.IndexByte(hash, 0) < 0
}

// Next returns the revision that follows parent. Its hash is over "1" or "0" for deleted, the parent's String, a line feed, and the
// canonical body.
func Next(parent ID, deleted bool, canonical []byte) ID {
	var stack [4096]byte // large enough for most bodies
	text := append(stack[:0], '0')
	if deleted {
		text[0] = '1'
	}
	text = append(append(parent.append(text), '\n'), canonical...)
	sum := sha256.Sum256(text)
	return ID{Generation: parent.Generation + 1, Hash: [16]byte(sum[:16])}
}

// EndedBody is the canonical body of a revision made by Ending.
const EndedBody = `{"ended":true}`

// Ending returns the revision that ends a losing branch: a deleted child of its leaf with the body {"ended":true}. The deletion of a
// record has an empty body, so every replica can tell the two apart.
func Ending(leaf ID) ID { return Next(leaf, true, []byte(EndedBody)) }

// Cutter reads a row from left to right. Short tells that the row ended too early.
type Cutter struct {
	Rest  []byte
	Short bool
}

// Bytes reads n bytes.
func (c *Cutter) Bytes(n int) []byte {
	if n < 0 || n > len(c.Rest) {
		c.Short, c.Rest = true, nil
		return nil
	}
	b := c.Rest[:n:n]
	c.Rest = c.Rest[n:]
	return b
}

// Byte reads one byte.
func (c *Cutter) Byte() byte {
	if len(c.Rest) == 0 {
		c.Short = true
		return 0
	}
	b := c.Rest[0]
	c.Rest = c.Rest[1:]
	return b
}

// Uvarint reads an unsigned varint.
func (c *Cutter) Uvarint() uint64 {
	if len(c.Rest) > 0 && c.Rest[0] < 0x80 {
		v := c.Rest[0]
		c.Rest = c.Rest[1:]
		return uint64(v)
	}
	if len(c.Rest) > 1 && c.Rest[1] < 0x80 {
		v := uint64(c.Rest[0]&0x7f) | uint64(c.Rest[1])<<7
		c.Rest = c.Rest[2:]
		return v
	}
	v, n := binary.Uvarint(c.Rest)
	if n <= 0 {
		c.Short, c.Rest = true, nil
		return 0
	}
	c.Rest = c.Rest[n:]
	return v
}

// Varint reads a signed varint.
func (c *Cutter) Varint() int64 {
	n := c.Uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

// Uint64 reads 8 bytes, big-endian.
func (c *Cutter) Uint64() uint64 {
	if b := c.Bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}
