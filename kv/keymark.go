package kv

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"doorward/kv/record"
)

// KeyMark returns a mark of the keys that work at a laptop too. The mark changes if one of them changes, comes or goes, and if
// a person is erased.
func (s *Store) KeyMark(p Principal) (string, error) {
	ids, err := s.keysFor(p)
	if err != nil {
		return "", err
	}
	text := binary.BigEndian.AppendUint64(nil, s.erasedTimes())
	err = s.view(func(v *sight) error {
		for _, id := range ids {
			st, err := v.load(record.APIKey, record.Int(id))
			if err != nil {
				return err
			}
			if st != nil {
				text = appendRevision(binary.BigEndian.AppendUint64(text, uint64(id)), st.revision)
			}
		}
		return nil
	})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), err
}

// AwaitKeys waits until the mark of a laptop's keys is no longer seen, and returns the new mark. It returns the present mark
// when ctx ends. It returns an error if the laptop may no longer ask.
func (s *Store) AwaitKeys(ctx context.Context, p Principal, seen string) (mark string, err error) {
	_ = s.rekeyed.await(ctx, func() bool { // what ends it is no failure
		if _, err = s.Standing(p); err == nil {
			mark, err = s.KeyMark(p)
		}
		return err != nil || mark != seen
	})
	return mark, err
}
