package index_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"doorward/index"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/search"

	"github.com/prometheus/client_golang/prometheus"
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

// replace puts one folder or file in the place of another.
func replace(t *testing.T, to, from string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if from == "" {
		return
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func TestAnIndexThatIsNotThisStoresEndsInRightAnswers(t *testing.T) {
	t.Parallel()
	sound, other := built(t), built(t)
	mapping := filepath.Dir(files(t, sound)[0])
	for name, do := range map[string]func(t *testing.T, dir string){
		"another store's":    func(t *testing.T, dir string) { replace(t, filepath.Join(dir, "index"), filepath.Join(other, "index")) },
		"missing":            func(t *testing.T, dir string) { replace(t, filepath.Join(dir, "index"), "") },
		"missing within":     func(t *testing.T, dir string) { replace(t, filepath.Join(dir, mapping), "") },
		"of another mapping": func(t *testing.T, dir string) { rename(t, dir, mapping, "index/0123456789abcdef") },
		"a file": func(t *testing.T, dir string) {
			replace(t, filepath.Join(dir, "index"), "")
			write(t, filepath.Join(dir, "index"))
		},
		"a file within": func(t *testing.T, dir string) {
			replace(t, filepath.Join(dir, mapping), "")
			write(t, filepath.Join(dir, mapping))
		},
		"what ended the process":    func(t *testing.T, dir string) { write(t, filepath.Join(dir, mapping+".opening")) },
		"beside a file":             func(t *testing.T, dir string) { write(t, filepath.Join(dir, mapping+".new")) },
		"with files of no meaning":  func(t *testing.T, dir string) { write(t, filepath.Join(dir, mapping, "x.zap")) },
		"with a torn segment":       func(t *testing.T, dir string) { write(t, filepath.Join(dir, mapping, "000000000fff.zap")) },
		"empty":                     func(t *testing.T, dir string) { empty(t, filepath.Join(dir, mapping)) },
		"with its segments swapped": func(t *testing.T, dir string) { swap(t, dir) },
		"beside one that was being built": func(t *testing.T, dir string) {
			replace(t, filepath.Join(dir, mapping+".new"), filepath.Join(other, mapping))
		},
		"to be replaced, with the new one beside": func(t *testing.T, dir string) {
			rename(t, dir, mapping, mapping+".old")
			replace(t, filepath.Join(dir, mapping+".new"), filepath.Join(dir, mapping+".old"))
		},
		"to be replaced by half of one": func(t *testing.T, dir string) {
			rename(t, dir, mapping, mapping+".old")
			replace(t, filepath.Join(dir, mapping+".new"), filepath.Join(other, mapping))
			write(t, filepath.Join(dir, mapping+".new", "root.bolt"))
		},
		"new, with the old one beside": func(t *testing.T, dir string) {
			replace(t, filepath.Join(dir, mapping+".old"), filepath.Join(other, mapping))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := copied(t, sound)
			do(t, dir)
			wantBuilt(t, dir)
		})
	}
}

func rename(t *testing.T, dir, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("not an index"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func empty(t *testing.T, dir string) {
	t.Helper()
	replace(t, dir, "")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

// swap gives two segments each other's names.
func swap(t *testing.T, dir string) {
	t.Helper()
	all := segments(t, dir)
	rename(t, dir, all[0], "kept")
	rename(t, dir, all[1], all[0])
	rename(t, dir, "kept", all[1])
}

func TestAnOlderIndexGoesOnFromWhereItWas(t *testing.T) {
	t.Parallel()
	dir := built(t)
	old := copied(t, dir)
	s := wantBuilt(t, dir) // makes another person
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	replace(t, filepath.Join(dir, "index"), filepath.Join(old, "index"))
	wantQuiteria(t, dir)
}

// wantQuiteria opens the store and its index again, and wants the person who was made last to be found.
func wantQuiteria(t *testing.T, dir string) {
	t.Helper()
	s := kvtest.OpenConfig(t, kv.Config{Dir: dir})
	x := opened(t, s, index.Config{Dir: dir})
	caughtUp(t, s, x)
	wantFound(t, x, "quiteria", 35)
}

func TestAnIndexAheadOfItsStoreIsRebuilt(t *testing.T) {
	t.Parallel()
	dir := built(t)
	old := copied(t, dir)
	s := wantBuilt(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	replace(t, filepath.Join(old, "index"), filepath.Join(dir, "index"))
	wantBuilt(t, old)
}

func TestAnIndexAheadOfItsStoreIsRebuiltThoughItNamesTheSamePeople(t *testing.T) {
	t.Parallel()
	dir := built(t)
	old := copied(t, dir)
	s := kvtest.OpenConfig(t, kv.Config{Dir: dir})
	rechristen(t, s, 21, "Quitéria")
	x := opened(t, s, index.Config{Dir: dir})
	caughtUp(t, s, x)
	if err := x.Flush(); err != nil {
		t.Fatal(err)
	}
	x.Close()
	replace(t, filepath.Join(old, "index"), filepath.Join(dir, "index"))
	wantBuilt(t, old)
}

func rechristen(t *testing.T, s *kv.Store, id int64, name string) {
	t.Helper()
	p := kvtest.Parse(t, record.Person, fmt.Sprintf(`{"full_name":%q}`, name), false)
	if _, err := s.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person, ID: record.Int(id)}, p); err != nil {
		t.Fatal(err)
	}
}

func TestACursorAheadOfTheDataIsCaught(t *testing.T) {
	t.Parallel()
	for name, without := range map[string]int64{"of a new person": 0, "of a person that it lacks": 21} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := built(t)
			s, err := kv.Open(kv.Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if without == 0 {
				kvtest.Create(t, s, record.Person, `{"full_name":"Quitéria"}`)
			}
			if err := index.Forge(filepath.Dir(filepath.Join(dir, files(t, dir)[0])), s, s.Tables.Commits.Seq(), without); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if without != 0 {
				wantBuilt(t, dir)
				return
			}
			wantQuiteria(t, dir)
		})
	}
}

// TestAnIndexThatWasBeingBuiltIsNotCalledDamaged opens what a process leaves that ends while it builds its first index.
func TestAnIndexThatWasBeingBuiltIsNotCalledDamaged(t *testing.T) {
	t.Parallel()
	dir := built(t)
	at := filepath.Dir(filepath.Join(dir, files(t, dir)[0]))
	if err := os.RemoveAll(at); err != nil {
		t.Fatal(err)
	}
	if err := index.Begin(at + ".new"); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	s := kvtest.OpenConfig(t, kv.Config{Dir: dir})
	x := opened(t, s, index.Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	caughtUp(t, s, x)
	wantFound(t, x, letters(20), 21)
	if x.Close(); said.Len() > 0 {
		t.Errorf("the log says %s", said.String())
	}
}

// TestTheIndexOfAnEarlierEpochIsBuiltWithoutAWordOfDamage is what lies in a folder after a restore: nothing in it is damaged, and
// nothing of it stays beside the new one.
func TestTheIndexOfAnEarlierEpochIsBuiltWithoutAWordOfDamage(t *testing.T) {
	t.Parallel()
	dir := built(t)
	s, err := kv.Open(kv.Config{Dir: dir})
	if err == nil {
		err = s.Tables.Epochs.Begin("of a test")
	}
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	x, err := index.Open(index.Config{Store: s, Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	caughtUp(t, s, x)
	wantFound(t, x, letters(20), 21)
	x.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if text := log.String(); strings.Contains(text, "WARN") || strings.Contains(text, "ERROR") || strings.Count(text, "another store's") != 1 {
		t.Errorf("the log says %q, want one line of Info", text)
	}
	wantAlone(t, dir)
}

// onDisk is a congregation with its index on a disk of which left tells how much room there is.
func onDisk(t *testing.T) (s *kv.Store, x *index.Index, registry *prometheus.Registry, left *atomic.Int64) {
	t.Helper()
	left = &atomic.Int64{}
	left.Store(1 << 40)
	registry = prometheus.NewRegistry()
	dir := built(t)
	s = kvtest.OpenConfig(t, kv.Config{Dir: dir, Free: func() (int64, error) { return left.Load(), nil }})
	x = opened(t, s, index.Config{Dir: dir, Registerer: registry})
	caughtUp(t, s, x)
	return s, x, registry, left
}

// TestAnIndexWaitsWhileTheDiskIsNearlyFull changes records while the disk is nearly full: searches that ask the store find them,
// and the index has them once there is room.
func TestAnIndexWaitsWhileTheDiskIsNearlyFull(t *testing.T) {
	t.Parallel()
	s, x, registry, left := onDisk(t)
	left.Store(1<<30 - 1)
	before := s.Tables.Commits.Seq()
	id := kvtest.Create(t, s, record.Person, `{"full_name":"Rita Tardia","church_id":1}`)
	pausedIs(t, registry, 1)
	found, err := named(x, "tardia")
	if err != nil || len(found.IDs) > 0 || found.Upto != before {
		t.Errorf("while it waits Find = %+v, %v, want none up to %d", found, err, before)
	}
	page, err := s.Desk.List(auth.Operator(), desk.Query{Surface: record.Admin, Kind: record.Person, Search: search.Parse("tardia"), Finder: x, Limit: 10})
	if err != nil || page.Count != 1 {
		t.Errorf("a search while the index waits = %+v, %v, want one", page, err)
	}
	left.Store(1 << 30)
	caughtUp(t, s, x)
	wantFound(t, x, "tardia", id)
	pausedIs(t, registry, 0)
}

// pausedIs waits until the index says whether it waits.
func pausedIs(t *testing.T, r *prometheus.Registry, want float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for kvtest.Metric(t, r, "doorward_index_paused") != want {
		if ctx.Err() != nil {
			t.Fatalf("doorward_index_paused is not %v", want)
		}
	}
}
