package kv_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/bbolt"

	"doorward/kv"
	"doorward/kv/record"
)

// rowAt is a row of a bucket.
type rowAt struct {
	bucket string
	key    []byte
}

func (r rowAt) String() string { return fmt.Sprintf("%s %x", r.bucket, r.key) }

// rowsAt are all rows of a file that are none of meta, in order.
func rowsAt(t *testing.T, dir string) (all []rowAt) {
	t.Helper()
	tampered(t, dir, func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(key, _ []byte) error {
				if string(name) != "meta" {
					all = append(all, rowAt{string(name), bytes.Clone(key)})
				}
				return nil
			})
		})
	})
	return all
}

// turned turns a bit in the value of each of some rows.
func turned(t *testing.T, dir string, rows ...rowAt) {
	t.Helper()
	tampered(t, dir, func(tx *bbolt.Tx) error {
		for _, r := range rows {
			b := tx.Bucket([]byte(r.bucket))
			value := bytes.Clone(b.Get(r.key))
			value[len(value)/2] ^= 0x10
			if err := b.Put(r.key, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// recordRows are the rows that say of a record that it is there, of which it has scopes and which change was its latest: its own, those
// in the logs.
func recordRows(t *testing.T, dir string, k *record.Kind, id record.ID) (rows []rowAt) {
	t.Helper()
	for _, r := range rowsAt(t, dir) {
		switch r.bucket {
		case "kind:" + k.Name:
			if bytes.Equal(r.key, k.AppendID(nil, id)) {
				rows = append(rows, r)
			}
		case "log", "scope_log":
			var value []byte
			tampered(t, dir, func(tx *bbolt.Tx) error {
				value = bytes.Clone(tx.Bucket([]byte(r.bucket)).Get(r.key))
				return nil
			})
			if value[0] == k.Number && bytes.HasPrefix(value[2:], k.AppendID(nil, id)) && value[1]&4 == 0 {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// placed is a new folder with a store's file in it.
func placed(t *testing.T, file []byte) (dir string) {
	t.Helper()
	dir = folder(t)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(kv.Path(dir), file, 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDamagedValuesKeepNoStoreShut damages some values of a store that has a row in every bucket. It opens, answers what is sound as
// before or that it is damaged, tells how many values it met, and verify names each. Planted and caught: lists that are made of the log
// alone (a store stays shut), and ones that leave out a record of which only the scope's row is sound.
func TestDamagedValuesKeepNoStoreShut(t *testing.T) {
	file := everyRow(t)
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := rowsAt(t, filepath.Dir(file))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 0))
	r, err := newReading(t.TempDir(), sound)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 2, 2, 3, 3, 10, 10, 10, 40, 200} {
		dir := placed(t, sound)
		var bad []rowAt
		for len(bad) < n {
			b := all[draw.IntN(len(all))].bucket
			if draw.IntN(3) == 0 { // those that lists are made of
				b = []string{"log", "scope_log", "kind:ticket", "kind:person", "kind:checkin", "admission"}[draw.IntN(6)]
			}
			of := slices.DeleteFunc(slices.Clone(all), func(r rowAt) bool { return r.bucket != b })
			bad = append(bad, of[draw.IntN(len(of))])
		}
		turned(t, dir, bad...)
		image, err := os.ReadFile(kv.Path(dir))
		if err != nil {
			t.Fatal(err)
		}
		registry := prometheus.NewRegistry()
		s, err := kv.Open(kv.Config{Dir: dir, Clock: func() time.Time { return r.clock }, Registerer: registry})
		if err != nil {
			t.Fatalf("with %v damaged: Open = %v", bad, err)
		}
		closed(t, s)
		if err := r.put(image); err != nil {
			t.Fatal(err)
		}
		registry = prometheus.NewRegistry()
		s, err = kv.Open(r.config(registry))
		if err != nil {
			t.Fatal(err)
		}
		opened := counted(registry)
		if s.Damaged() != int(opened) {
			t.Errorf("the store says that it met %d damaged values, and counts %v", s.Damaged(), opened)
		}
		if said := r.ask(s, func() bool { return opened > 0 || counted(registry) > opened }); said != "right" {
			t.Errorf("with %v damaged: %s", bad, said)
		}
		wantNamed(t, s, bad)
		closed(t, s)
	}
}

// wantNamed wants verify to name the bucket of each damaged row, and to say of no more than 100 places.
func wantNamed(t *testing.T, s *kv.Store, bad []rowAt) {
	t.Helper()
	rep, err := s.Verify(kv.Operator(), nil)
	if err != nil || rep.Damaged < len(slices.CompactFunc(bad, func(a, b rowAt) bool { return a.String() == b.String() })) || len(rep.Damage) > 100 || len(rep.Places) > 100 {
		t.Errorf("Verify of %d damaged values finds %d, names %d, %v", len(bad), rep.Damaged, len(rep.Damage), err)
	}
	if rep.Damaged > 100 {
		return
	}
	for _, r := range bad {
		if !slices.ContainsFunc(rep.Places, func(d kv.Damage) bool { return d.Bucket == r.bucket && d.Reason == "a value fails its checksum" }) {
			t.Errorf("Verify names no value of bucket %s: %v", r.bucket, rep.Damage)
		}
	}
}
