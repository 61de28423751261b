package table

import (
	"encoding/binary"
	"time"
)

// Releases grows whenever this process takes records out of the file without a tombstone, by Release or Leave. A follower of
// the log learns of them by this number alone.
func (s *Set) Releases() uint64 { return s.ReleaseCount.Load() }

var releasedKey = []byte("released") // in meta: when the file first held bytes of what it has released, microseconds 8

// NoteReleased notes that free pages of the file hold bytes of released records from now on.
func NoteReleased(o *Tx) error {
	since, err := releasedSince(o.View)
	if err == nil && (since == 0 || o.Tx.Rewriting()) { // a file that a rewrite is writing holds them too
		o.Put(MetaBucket, releasedKey, SeqKey(uint64(o.Stamp)))
	}
	return err
}

// releasedSince returns the time since which the file holds bytes of released records. It returns 0 if it holds none, or if it
// was compacted since.
func releasedSince(v *View) (int64, error) {
	row, err := v.Get(MetaBucket, releasedKey)
	if err != nil || len(row) != 8 {
		return 0, err
	}
	since := int64(binary.BigEndian.Uint64(row))
	if compacted, err := CompactedAt(v); err != nil || since <= compacted {
		return 0, err
	}
	return since, nil
}

func (s *Set) ReleasedSince() (since time.Time, err error) {
	err = s.View(func(v *View) error {
		n, err := releasedSince(v)
		if n != 0 {
			since = time.UnixMicro(n)
		}
		return err
	})
	return since, err
}
