package kv_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestNoPageThatLeadsAstrayEndsWhoOpensTheFile breaks every page of a file in each way. bbolt would end the process, and this test.
func TestNoPageThatLeadsAstrayEndsWhoOpensTheFile(t *testing.T) {
	s, _ := opened(t)
	for i := range 300 {
		kvtest.Create(t, s, record.Church, fmt.Sprintf(`{"name":"Church %d"}`, i))
	}
	copied := filepath.Join(t.TempDir(), "copy") // which has no room at its end
	if _, err := s.Files.CopyTo(auth.Operator(), copied); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	seed := proof.Seed(t)
	draw := rand.New(rand.NewPCG(seed, 0))
	refused := 0
	for page := 2 * 8192; page+8192 <= len(whole); page += 8192 {
		for way := range waysAstray {
			broken := t.TempDir()
			if err := os.WriteFile(table.Path(broken), astray(draw, way, whole, page), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := kv.Open(kv.Config{Dir: broken, Aside: true})
			if err == nil { // nothing leads to the page, or what it says now is no harm
				closed(t, s)
				continue
			}
			refused++
			if bad := (*engine.BadFile)(nil); !errors.Is(err, engine.ErrCorrupt) || !errors.As(err, &bad) || bad.Path != table.Path(broken) {
				t.Errorf("Open of a file whose page %d is broken in way %d = %v", page/8192, way, err)
			}
		}
	}
	if refused < 100 {
		t.Errorf("%d broken pages were refused, want 100 at least", refused)
	}
}

const waysAstray = 6

// astray is a file in which a page says something else of itself, or of where its elements lie or lead.
func astray(draw *rand.Rand, way int, whole []byte, page int) []byte {
	file := append([]byte(nil), whole...)
	element := page + 16
	if n := int(binary.LittleEndian.Uint16(file[page+10:])); n > 0 {
		element += 16 * draw.IntN(n)
	}
	far := uint32(1)<<20 + draw.Uint32N(1<<30)
	switch way {
	case 0:
		binary.LittleEndian.PutUint64(file[page:], draw.Uint64N(1<<40))
	case 1:
		binary.LittleEndian.PutUint16(file[page+8:], uint16(draw.IntN(1<<16)))
	case 2:
		binary.LittleEndian.PutUint16(file[page+10:], 0xf000)
	case 3:
		binary.LittleEndian.PutUint32(file[page+12:], far)
	case 4:
		binary.LittleEndian.PutUint32(file[element+4:], far) // of a branch the key's length, of a leaf the position
	case 5:
		binary.LittleEndian.PutUint32(file[element+8:], far) // of a branch the page, of a leaf the key's length
	}
	return file
}

// TestEverySoundFileOpens: a page may be full to its last byte, and so may the last of several.
func TestEverySoundFileOpens(t *testing.T) {
	const page, head = 8192, 16 + 16 + len("k") // of a page, of its one element
	for _, pages := range []int{1, 2, 3} {
		for spare := -3; spare <= 3; spare++ {
			path := filepath.Join(t.TempDir(), "file")
			db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: page})
			if err != nil {
				t.Fatal(err)
			}
			err = db.Update(func(tx *bbolt.Tx) error {
				b, err := tx.CreateBucket([]byte("bucket"))
				if err != nil {
					return err
				}
				return b.Put([]byte("k"), make([]byte, pages*page-head-spare))
			})
			if err = errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			opened, err := engine.Open(engine.Config{Path: path, Schema: &engine.Schema{{Name: "bucket"}}})
			if err != nil {
				t.Fatalf("a leaf of %d pages with %d bytes to spare: %v", pages, spare, err)
			}
			if err := opened.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestDamageInMetaIsItsOwn: what one row of meta says is no reason to keep the store shut for the rows beside it.
func TestDamageInMetaIsItsOwn(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	if err := s.Files.NoteBackup(auth.Operator(), "monday.db"); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	db, err := bbolt.Open(table.Path(dir), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		meta := tx.Bucket([]byte("meta"))
		row := bytes.Clone(meta.Get([]byte("backups")))
		row[0] ^= 1
		return meta.Put([]byte("backups"), row)
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	s = reopenable(t, kv.Config{Dir: dir})
	defer func() { closed(t, s) }()
	if _, err := s.Files.OlderFiles(auth.Operator(), time.Now()); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("the damaged row = %v, want ErrCorrupt", err)
	}
}
