package record

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"
)

// FirstDrawn is the first of the ids that are drawn at random, where no range was leased (design.md §4).
const FirstDrawn = 1 << 52

// MaxID is the largest integer id: the largest integer every JSON client holds exactly.
const MaxID = 1<<53 - 1

// ID names a record within its kind: an integer from 1 to MaxID, or a ULID for facts and nodes. IDs are comparable and
// ordered as their keys are.
type ID struct{ hi, lo uint64 }

// Int makes the id of a kind that counts its records.
func Int(n int64) ID { return ID{lo: uint64(n)} }

// FromULID makes the id of a fact.
func FromULID(u ulid.ULID) ID {
	return ID{hi: binary.BigEndian.Uint64(u[:8]), lo: binary.BigEndian.Uint64(u[8:])}
}

// Int is the integer of a counting kind's id.
func (id ID) Int() int64 { return int64(id.lo) }

// ULID is the ULID of a fact's id.
func (id ID) ULID() (u ulid.ULID) {
	binary.BigEndian.PutUint64(u[:8], id.hi)
	binary.BigEndian.PutUint64(u[8:], id.lo)
	return u
}

// IsZero tells an id that names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// Compare orders ids: -1, 0 or 1.
func (id ID) Compare(o ID) int {
	switch {
	case id == o:
		return 0
	case id.hi < o.hi || id.hi == o.hi && id.lo < o.lo:
		return -1
	}
	return 1
}

// AppendID appends id's key as kind k's rows are keyed: 8 bytes for an integer, 16 for a ULID, both big-endian.
func (k *Kind) AppendID(dst []byte, id ID) []byte {
	if k.ULID {
		dst = binary.BigEndian.AppendUint64(dst, id.hi)
	}
	return binary.BigEndian.AppendUint64(dst, id.lo)
}

// KeyID reads the id that AppendID wrote; ok is false where the length is another.
func (k *Kind) KeyID(key []byte) (id ID, ok bool) {
	if len(key) != k.IDSize() {
		return ID{}, false
	}
	if k.ULID {
		return ID{binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])}, true
	}
	return ID{lo: binary.BigEndian.Uint64(key)}, true
}

// IDSize is the length in bytes of a key made by AppendID.
func (k *Kind) IDSize() int {
	if k.ULID {
		return 16
	}
	return 8
}

// FormatID prints id as a path and a reply show it: digits, or an upper-case ULID.
func (k *Kind) FormatID(id ID) string {
	if k.ULID {
		return id.ULID().String()
	}
	return strconv.FormatInt(id.Int(), 10)
}

// ParseID reads what a path holds; ok is false for anything that can name no record of this kind.
func (k *Kind) ParseID(s string) (id ID, ok bool) {
	if k.ULID {
		u, err := ulid.ParseStrict(s)
		return FromULID(u), err == nil && u.String() == s
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return ID{}, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return Int(n), err == nil && 1 <= n && n <= MaxID
}

// DocID is the record's name in replication: kind, colon, 16 digits or an upper-case ULID.
func (k *Kind) DocID(id ID) string {
	var room [64]byte
	return string(appendDocID(room[:0], k, id))
}

func appendDocID(dst []byte, k *Kind, id ID) []byte {
	dst = append(append(dst, k.Name...), ':')
	if k.ULID {
		return append(dst, k.FormatID(id)...)
	}
	for least := int64(1e15); least > max(id.Int(), 1); least /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, id.Int(), 10)
}

// ParseDocID reads what DocID wrote. ok is false for anything else, and for a kind that this version does not have.
func ParseDocID(text string) (k *Kind, id ID, ok bool) {
	name, rest, _ := strings.Cut(text, ":")
	if k, ok = ByName(name); !ok {
		return nil, ID{}, false
	}
	if !k.ULID {
		rest = strings.TrimLeft(rest, "0")
	}
	id, ok = k.ParseID(rest)
	var room [64]byte
	return k, id, ok && string(appendDocID(room[:0], k, id)) == text
}
