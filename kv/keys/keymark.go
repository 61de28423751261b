package keys

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
)

// KeyMark returns a mark of the keys that work at a laptop too. The mark changes if one of them changes, comes or goes, and if
// a person is erased.
func (kr *Ring) KeyMark(p auth.Principal) (string, error) {
	ids, err := kr.keysFor(p)
	if err != nil {
		return "", err
	}
	text := binary.BigEndian.AppendUint64(nil, kr.erasedTimes())
	err = kr.tables.View(func(v *table.View) error {
		for _, id := range ids {
			st, err := v.Load(record.APIKey, record.Int(id))
			if err != nil {
				return err
			}
			if st != nil {
				text = table.AppendRevision(binary.BigEndian.AppendUint64(text, uint64(id)), st.Revision)
			}
		}
		return nil
	})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), err
}

// AwaitKeys waits until the mark of a laptop's keys is no longer seen, and returns the new mark. It returns the present mark
// when ctx ends. It returns an error if the laptop may no longer ask.
func (kr *Ring) AwaitKeys(ctx context.Context, p auth.Principal, seen string) (mark string, err error) {
	_ = kr.rekeyed.Await(ctx, func() bool { // what ends it is no failure
		if _, err = kr.Standing(p); err == nil {
			mark, err = kr.KeyMark(p)
		}
		return err != nil || mark != seen
	})
	return mark, err
}
