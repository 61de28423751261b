package kv

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"doorward/kv/entry"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/table"
)

// StopErasing ends every erasure of a store where fn answers an error for the step that is done.
func StopErasing(s *Store, fn func(step string) error) { s.Erasures.Interrupt = fn }

// LedgerName is the file of what was erased.
const LedgerName = ledger.LedgerName

// ShareCodeKey gives a store the code key of another, as joining it does.
func ShareCodeKey(t testing.TB, from, to *Store) {
	t.Helper()
	to.Tables.Identity.SetFamily(from.Tables.Identity.Family())
}

// AwaitErasures waits until a store has carried out what it was told of.
func AwaitErasures(t testing.TB, s *Store) {
	t.Helper()
	b, err := s.Erasures.FindPending()
	if err == nil && !s.Erasures.FinishPending(b) {
		err = errors.New("an erasure could not be finished")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// BeginErasures finds out what is to be erased now, and answers what finishes that.
func BeginErasures(t testing.TB, s *Store) (finish func() bool) {
	t.Helper()
	b, err := s.Erasures.FindPending()
	if err != nil {
		t.Fatal(err)
	}
	return func() bool { return s.Erasures.FinishPending(b) }
}

// SpoilRows damages values of a bucket, those of some keys or all, in the file of a closed store.
func SpoilRows(t testing.TB, dir, bucket string, keys ...string) {
	t.Helper()
	db, err := bbolt.Open(table.Path(dir), 0o600, &bbolt.Options{PageSize: 8 << 10})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		spoilt := map[string][]byte{}
		b := tx.Bucket([]byte(bucket))
		err := b.ForEach(func(key, value []byte) error {
			if len(keys) > 0 && !slices.Contains(keys, string(key)) {
				return nil
			}
			value = bytes.Clone(value)
			value[len(value)-1] ^= 1
			spoilt[string(key)] = value
			return nil
		})
		for key, value := range spoilt {
			err = errors.Join(err, b.Put([]byte(key), value))
		}
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// ForgetMeta takes a row out of the file of a closed store.
func ForgetMeta(t testing.TB, dir, key string) {
	t.Helper()
	db, err := bbolt.Open(table.Path(dir), 0o600, &bbolt.Options{PageSize: 8 << 10})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(table.Schema[table.MetaBucket].Name)).Delete([]byte(key))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// HashErased is what an erasure of a record says of it.
func HashErased(s *Store, k *record.Kind, id record.ID) [16]byte {
	return s.Tables.Identity.HashErased(k, id)
}

// Present is the present holding of a ticket; zero: it has none.
func Present(t testing.TB, s *Store, ticket int64) (id record.ID) {
	t.Helper()
	err := s.Tables.View(func(v *table.View) error {
		st, err := v.LoadAny(record.Ticket, record.Int(ticket))
		if err == nil && st != nil {
			id = entry.PresentOf(st.Body)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}
