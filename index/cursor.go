package index

import (
	"fmt"
	"hash/crc32"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"doorward/kv"
)

// cursorKey is the key of an index's cursor. The cursor lies in the same snapshot as the documents that it counts.
var cursorKey = []byte("cursor")

// cursor names the log that an index follows, and the last sequence that it has.
type cursor struct {
	realm, node, epoch string
	seq                uint64
}

func cursorOf(s *kv.Store, seq uint64) cursor {
	return cursor{s.Tables.Identity.Realm(), s.Tables.Identity.Node(), s.Tables.Epochs.Present(), seq}
}

// encode writes a cursor with a checksum of its own.
func (c cursor) encode() []byte {
	text := fmt.Sprintf("%s %s %s %d", c.realm, c.node, c.epoch, c.seq)
	return fmt.Appendf(nil, "%s %08x", text, crc32.ChecksumIEEE([]byte(text)))
}

// readCursor reads a snapshot's cursor; it returns errBroken if there is none, or if its checksum is wrong.
func readCursor(snap *scorch.IndexSnapshot) (c cursor, err error) {
	text, err := snap.GetInternal(cursorKey)
	if err != nil {
		return cursor{}, err
	}
	var sum uint32
	if _, err := fmt.Sscanf(string(text), "%s %s %s %d %x", &c.realm, &c.node, &c.epoch, &c.seq, &sum); err != nil {
		return cursor{}, fmt.Errorf("%w: it has no cursor", errBroken)
	}
	if string(c.encode()) != string(text) {
		return cursor{}, fmt.Errorf("%w: its cursor fails its checksum", errBroken)
	}
	return c, nil
}
