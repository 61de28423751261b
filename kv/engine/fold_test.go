package engine

import (
	"runtime"
	"testing"
	"time"
	"weak"
)

// TestAFoldFreesTheMemoryOfItsTable: a store that rests after an import keeps none of the import's rows in memory.
func TestAFoldFreesTheMemoryOfItsTable(t *testing.T) {
	db := opened(t)
	if err := db.Do(false, func(tx *Tx) error { tx.Put(1, []byte("a"), make([]byte, 64<<10)); return nil }); err != nil {
		t.Fatal(err)
	}
	var row weak.Pointer[byte]
	err := db.View(func(v *View) error {
		value, err := v.Get(1, []byte("a"))
		row = weak.Make(&value[0])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Fold(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); row.Value() != nil; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("a row that is in the file is in memory still")
		}
	}
}
