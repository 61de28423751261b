package kv

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"doorward/kv/record"
)

// KeyMark names what the keys that work at a laptop too are now: another name once one of them is another, has come or has gone, and
// once somebody was erased.
func (s *Store) KeyMark(p Principal) (string, error) {
	ids, err := s.KeysFor(p)
	if err != nil {
		return "", err
	}
	text := binary.BigEndian.AppendUint64(nil, s.erasures.done.Load())
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

// AwaitKeys waits until a laptop is to be told of other keys than those of a mark, or of an erasure, and answers the mark then; the same
// once ctx has ended.
// The error is that of a laptop that may ask no more.
func (s *Store) AwaitKeys(ctx context.Context, p Principal, seen string) (mark string, err error) {
	_ = s.rekeyed.await(ctx, func() bool { // what ends it is no failure
		if _, err = s.Standing(p); err == nil {
			mark, err = s.KeyMark(p)
		}
		return err != nil || mark != seen
	})
	return mark, err
}
