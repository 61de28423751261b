package index_test

import (
	"bytes"
	"fmt"
	"log/slog"
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
