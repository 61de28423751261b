package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doorward/cmd/doorward/archive"
	"doorward/kv/table"
)

// TestABadBackupIsNotRestored: whatever is the matter with a file, the store whose place it should take stays byte for byte as it was.
// And whatever is the matter with a store, a good backup takes its place, and the file that was there is kept as it was.
func TestABadBackupIsNotRestored(t *testing.T) {
	t.Parallel()
	base := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
	var made, saved struct{ Epoch string }
	base.run(&made, "keys", "add", "--name", "front door", "--level", "denomination")
	good := filepath.Join(t.TempDir(), "monday.db")
	base.run(&saved, "backup", good)
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	wrong := badFile{name: "a value that fails its checksum", do: func(t *testing.T, path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, path, bytes.ReplaceAll(text, []byte("front door"), []byte("Front door")))
	}}
	for _, bad := range append(badFiles(), wrong) {
		t.Run(bad.name, func(t *testing.T) {
			p := base.copied(t)
			file := table.Path(t.TempDir())
			overwrite(t, file, whole)
			bad.do(t, file)
			said := p.refused(t, p.asked("restore", file, "--replace"))
			if !strings.Contains(said, file) {
				t.Errorf("restore of a bad file said %q, which does not name it", said)
			}
			if bad.name == "a folder" {
				return // restore puts nothing in the place of one
			}
			bad.do(t, table.Path(p.dir))
			before, err := os.ReadFile(table.Path(p.dir))
			if err != nil {
				t.Fatal(err)
			}
			var done archive.Restored
			p.run(&done, "restore", good, "--replace")
			after, err := os.ReadFile(done.Kept)
			if err != nil || !bytes.Equal(before, after) || done.Epoch == saved.Epoch {
				t.Errorf("restore = %+v, %v; the file before is kept as it was: %t; the backup's epoch was %s", done, err, bytes.Equal(before, after), saved.Epoch)
			}
			var sound struct{ Records, Damaged int }
			if p.run(&sound, "verify"); sound.Records == 0 {
				t.Errorf("verify after a restore = %+v", sound)
			}
		})
	}
}
