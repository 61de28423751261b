package index_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doorward/index"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// damages are what happens to a file.
var damages = map[string]func(file []byte) []byte{
	"emptied":                func([]byte) []byte { return nil },
	"cut in half":            func(f []byte) []byte { return f[:len(f)/2] },
	"cut by its last byte":   func(f []byte) []byte { return f[:len(f)-1] },
	"cut to a few bytes":     func(f []byte) []byte { return f[:3] },
	"zeroed":                 func(f []byte) []byte { return make([]byte, len(f)) },
	"zeroed at its start":    func(f []byte) []byte { return append(make([]byte, len(f)/3), f[len(f)/3:]...) },
	"zeroed at its end":      func(f []byte) []byte { return append(f[:len(f)-len(f)/3:len(f)-len(f)/3], make([]byte, len(f)/3)...) },
	"longer":                 func(f []byte) []byte { return append(f, "something else"...) },
	"something else":         func([]byte) []byte { return bytes.Repeat([]byte("not an index\n"), 700) },
	"full of ones":           func(f []byte) []byte { return bytes.Repeat([]byte{0xff}, len(f)) },
	"its own start, twice":   func(f []byte) []byte { return append(f[:len(f)/2:len(f)/2], f[:len(f)/2]...) },
	"without its first page": func(f []byte) []byte { return f[min(len(f)-1, 4096):] },
}

// flip changes one byte of a file.
func flip(at float64) func([]byte) []byte {
	return func(f []byte) []byte {
		f[int(at*float64(len(f)-1))] ^= 0x41
		return f
	}
}

// built makes a store with an index that lies on disk in several segments, with deleted documents. Both are closed.
func built(t *testing.T) (dir string) {
	t.Helper()
	for range 20 { // a busy machine may merge all segments into one before the index is closed
		if dir = build(t); len(segments(t, dir)) > 1 {
			return dir
		}
	}
	t.Fatal("the index never has several segments")
	return ""
}

// segments are the segments' files of an index below a folder.
func segments(t *testing.T, dir string) (paths []string) {
	t.Helper()
	for _, path := range files(t, dir) {
		if strings.HasSuffix(path, ".zap") {
			paths = append(paths, path)
		}
	}
	return paths
}

func build(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	s, err := kv.Open(kv.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	kvtest.Create(t, s, record.Church, `{"name":"Igreja Central"}`)
	for i := range 30 {
		kvtest.Create(t, s, record.Person, fmt.Sprintf(`{"full_name":"Pessoa %s Souza","church_id":1,"phone":"1191234%04d"}`, letters(i), i))
	}
	x, err := index.Open(index.Config{Store: s, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		caughtUp(t, s, x)
		if err := x.Flush(); err != nil {
			t.Fatal(err)
		}
		remove(t, s, int64(1+i))
		kvtest.Create(t, s, record.Person, fmt.Sprintf(`{"full_name":"Pessoa %s Souza","church_id":1}`, letters(30+i)))
	}
	caughtUp(t, s, x)
	if err := x.Flush(); err != nil {
		t.Fatal(err)
	}
	x.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func remove(t *testing.T, s *kv.Store, id int64) {
	t.Helper()
	if err := s.Desk.Delete(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person, ID: record.Int(id)}); err != nil {
		t.Fatal(err)
	}
}

// wantBuilt opens what built made, and holds the answers against the store.
func wantBuilt(t *testing.T, dir string) *kv.Store {
	t.Helper()
	s := kvtest.OpenConfig(t, kv.Config{Dir: dir})
	x := opened(t, s, index.Config{Dir: dir})
	caughtUp(t, s, x)
	var want []int64
	for i := int64(5); i <= 34; i++ {
		want = append(want, i)
	}
	wantFound(t, x, "", want...)
	wantFound(t, x, "souza pessoa", want...)
	wantFound(t, x, letters(2))
	wantFound(t, x, letters(20), 21)
	wantFound(t, x, letters(33), 34)
	wantFound(t, x, "12340020", 21)
	kvtest.Create(t, s, record.Person, `{"full_name":"Quitéria"}`) // and it goes on
	caughtUp(t, s, x)
	wantFound(t, x, "quiteria", 35)
	x.Close()
	wantAlone(t, dir)
	return s
}

// wantAlone wants nothing but one index in the index's folder.
func wantAlone(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "index"))
	if err != nil || len(entries) != 1 || strings.Contains(entries[0].Name(), ".") {
		t.Errorf("the folder of the index holds %v, %v, want one index", entries, err)
	}
}

// files are an index's own, by their paths below a data folder.
func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "index"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			paths = append(paths, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestEachWayOfDamagingEachFileEndsInRightAnswers(t *testing.T) {
	t.Parallel()
	sound := built(t)
	for i := range 12 {
		damages[fmt.Sprintf("wrong in one byte, %d", i)] = flip(float64(i) / 11)
	}
	paths := files(t, sound)
	if len(paths) < 3 {
		t.Fatalf("the index has only %v", paths)
	}
	for _, path := range paths {
		for name, damage := range damages {
			t.Run(filepath.Ext(path)+" "+name, func(t *testing.T) {
				t.Parallel()
				dir := copied(t, sound)
				file, err := os.ReadFile(filepath.Join(dir, path))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, path), damage(file), 0o600); err != nil {
					t.Fatal(err)
				}
				wantBuilt(t, dir)
			})
		}
	}
}

func TestEachFileThatIsMissingOrAFolderEndsInRightAnswers(t *testing.T) {
	t.Parallel()
	sound := built(t)
	for _, path := range files(t, sound) {
		t.Run("missing "+filepath.Ext(path), func(t *testing.T) {
			t.Parallel()
			dir := copied(t, sound)
			if err := os.Remove(filepath.Join(dir, path)); err != nil {
				t.Fatal(err)
			}
			wantBuilt(t, dir)
		})
		t.Run("folder "+filepath.Ext(path), func(t *testing.T) {
			t.Parallel()
			dir := copied(t, sound)
			if err := os.Remove(filepath.Join(dir, path)); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, path), 0o700); err != nil {
				t.Fatal(err)
			}
			wantBuilt(t, dir)
		})
	}
}

// TestAWriteThatMeetsASegmentCutShortIsAnError cuts the segment of an open index short: reading it is a fault of memory.
func TestAWriteThatMeetsASegmentCutShortIsAnError(t *testing.T) {
	t.Parallel()
	dir := built(t)
	indexes := filepath.Dir(filepath.Join(dir, files(t, dir)[0]))
	err := index.WriteAfter(indexes, 21, func() {
		segments, err := filepath.Glob(filepath.Join(indexes, "*.zap"))
		if err != nil || len(segments) != 1 {
			t.Fatalf("segments %v, %v, want one", segments, err)
		}
		if err := os.Truncate(segments[0], 0); err != nil {
			t.Fatal(err)
		}
	})
	if !errors.Is(err, index.ErrBroken) {
		t.Errorf("a write onto segments that were cut short = %v, want %v", err, index.ErrBroken)
	}
	wantBuilt(t, dir)
}
