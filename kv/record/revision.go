package record

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Revision names one state of a record: how many changes made it, and a hash over deleted, parent and canonical body.
// The zero Revision is the parent of a first one.
type Revision struct {
	Generation uint64
	Hash       [16]byte
}

// String is the revision as replicas write it: "3-" and 32 lower-case hex digits; "" for the zero Revision.
func (r Revision) String() string {
	var buf [53]byte
	return string(r.append(buf[:0]))
}

func (r Revision) append(dst []byte) []byte {
	if r == (Revision{}) {
		return dst
	}
	dst = append(strconv.AppendUint(dst, r.Generation, 10), '-')
	return hex.AppendEncode(dst, r.Hash[:])
}

// MaxGeneration is the largest that a revision may come with: another one follows always.
const MaxGeneration = 1 << 53

// ParseRevision reads what String wrote.
func ParseRevision(s string) (r Revision, ok bool) {
	if s == "" {
		return Revision{}, true
	}
	generation, hash, _ := strings.Cut(s, "-")
	if len(hash) != 32 || hash != strings.ToLower(hash) {
		return Revision{}, false
	}
	n, err := strconv.ParseUint(generation, 10, 64)
	if err != nil || n == 0 || n > MaxGeneration || generation[0] == '0' || generation[0] == '+' {
		return Revision{}, false
	}
	r.Generation = n
	if _, err := hex.Decode(r.Hash[:], []byte(hash)); err != nil {
		return Revision{}, false
	}
	return r, true
}

// Next is the revision that follows parent: the hash is over "1" or "0" for deleted, the parent's String, a line feed, and
// the canonical body.
func Next(parent Revision, deleted bool, canonical []byte) Revision {
	var stack [4096]byte // most bodies fit
	text := append(stack[:0], '0')
	if deleted {
		text[0] = '1'
	}
	text = append(append(parent.append(text), '\n'), canonical...)
	sum := sha256.Sum256(text)
	return Revision{Generation: parent.Generation + 1, Hash: [16]byte(sum[:16])}
}

// DocID is the record's name in replication: kind, colon, 16 digits or an upper-case ULID.
func (k *Kind) DocID(id ID) string {
	var room [64]byte
	return string(k.appendDocID(room[:0], id))
}

func (k *Kind) appendDocID(dst []byte, id ID) []byte {
	dst = append(append(dst, k.Name...), ':')
	if k.ULID {
		return append(dst, k.FormatID(id)...)
	}
	for least := int64(1e15); least > max(id.Int(), 1); least /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, id.Int(), 10)
}
