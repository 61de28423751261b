package engine_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"doorward/kv/engine"
	"doorward/kv/kvtest/disk"
	"doorward/kv/kvtest/proof"
)

// A process that works on a disk of the laboratory maps its files, so it must be another one than the disk's: this program, called with playVariable.
const playVariable = "DOORWARD_ENGINE_PLAY"

// The laboratory's story has so many operations, and this many images are made of it. A sample is one in a few of them.
const (
	playOps    = 400
	playImages = 10500
	playSample = 300
)

// slowSync is how long the disk takes to sync the file, so that the log is written to while a fold is under way.
const slowSync = 25 * time.Millisecond

// play is a story: what an engine does on a disk, drawn from a seed.
type play struct{ seed uint64 }

// rows are those of an operation. Segments are filled by a dozen of the larger ones, so they are used again and again.
func (p play) rows(n int) map[string]string {
	r := rand.New(rand.NewPCG(p.seed, uint64(n)))
	size := []int{1, 40, 600, 5000, 30_000, 60_000}[r.IntN(6)]
	rows := map[string]string{"n": strconv.Itoa(n), fmt.Sprintf("k%02d", r.IntN(12)): strings.Repeat(strconv.Itoa(n)+" ", size/4+1)}
	if r.IntN(4) == 0 {
		rows[fmt.Sprintf("k%02d", r.IntN(12))] = ""
	}
	return rows
}

// after are the rows that are there after so many operations.
func (p play) after(n int) map[string]string {
	all := map[string]string{}
	for i := 1; i <= n; i++ {
		maps.Copy(all, p.rows(i))
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

var playSchema = &engine.Schema{one: {Name: "one", Scattered: true}}

func playConfig(dir string) engine.Config {
	return engine.Config{Path: filepath.Join(dir, "a.db"), Schema: playSchema}
}

// write does an operation.
func (p play) write(db *engine.DB, n int) error {
	return db.Do(n%2 == 0, func(tx *engine.Tx) error {
		for key, value := range p.rows(n) {
			if value == "" {
				tx.Delete(one, []byte(key))
			} else {
				tx.Put(one, []byte(key), []byte(value))
			}
		}
		return nil
	})
}

// act is what the process does: it says the number of each operation when it is answered.
func (p play) act(dir string, say io.Writer) error {
	db, err := engine.Open(playConfig(dir))
	if err != nil {
		return err
	}
	db.Start(engine.Hooks{})
	r := rand.New(rand.NewPCG(p.seed, 0))
	var beside sync.WaitGroup
	defer beside.Wait()
	for n := 1; n <= playOps; n++ {
		if err := p.write(db, n); err != nil {
			return err
		}
		fmt.Fprintln(say, n)
		switch r.IntN(24) {
		case 0:
			beside.Go(func() { _ = db.Fold() }) // what it lacks the log has
		case 1, 2:
			beside.Go(func() { _ = db.FoldGathering() })
		case 3:
			if r.IntN(4) == 0 {
				err = db.Rewrite(context.Background(), func(*engine.Tx) {})
			}
		case 4:
			beside.Wait()
			if err = db.Close(); err == nil {
				db, err = engine.Open(playConfig(dir))
			}
			if err == nil {
				db.Start(engine.Hooks{})
			}
		}
		if err != nil {
			return err
		}
	}
	return nil // it is not closed: a kill ends it
}

// acts acts the play of a seed in a folder, as playVariable gives them.
func acts(said string) error {
	seed, dir, _ := strings.Cut(said, " ")
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return err
	}
	return play{n}.act(dir, os.Stdout)
}

// story is a play that was acted.
type story struct {
	play
	medium *disk.Medium
	done   []int // positions of the disk by which the operations were answered
}

// acted has a play acted on a disk.
func acted(t *testing.T, p play) *story {
	t.Helper()
	d := disk.New(disk.Config{Sync: func(path string) error {
		if path == "a.db" {
			time.Sleep(slowSync)
		}
		return nil
	}})
	dir, unmount := d.MountFor(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", playVariable, p.seed, dir))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err = errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	s := &story{play: p, done: make([]int, playOps+1)}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		n, err := strconv.Atoi(lines.Text())
		if err != nil || n > playOps {
			t.Fatalf("the play says %q", lines.Text())
		}
		s.done[n] = d.Position()
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	unmount()
	s.medium = d.Medium()
	return s
}

// look opens an image: it holds the rows after some operation, which is none before the last that was answered before the cut. Then it goes on.
func (s *story) look(image *disk.Image, dir string, cut int) error {
	answered := 0
	for n := 1; n <= playOps && s.done[n] > 0 && s.done[n] <= cut; n++ {
		answered = n
	}
	if err := image.Write(dir); err != nil {
		return err
	}
	n, err := s.reads(dir, nil)
	if err != nil {
		return err
	}
	if n < answered {
		return fmt.Errorf("operation %d was answered, and the last that is there is %d", answered, n)
	}
	next := n%playOps + 1
	again, err := s.reads(dir, func(db *engine.DB) error {
		if err := s.write(db, next); err != nil {
			return err
		}
		return db.CheckLog()
	})
	if err == nil && again != next {
		err = fmt.Errorf("after operation %d was done again, operation %d is the last", next, again)
	}
	return err
}

// reads opens the engine, does something with it, and holds its rows against those after the operation that it says it has seen last.
func (s *story) reads(dir string, do func(*engine.DB) error) (n int, err error) {
	db, err := engine.Open(playConfig(dir))
	if err != nil {
		return 0, err
	}
	db.Start(engine.Hooks{})
	defer func() { err = errors.Join(err, db.Close()) }()
	if do != nil {
		if err := do(db); err != nil {
			return 0, err
		}
	}
	got := map[string]string{}
	err = db.View(func(v *engine.View) error {
		return v.Scan(one, nil, nil, func(key, value []byte) (bool, error) {
			got[string(key)] = string(value)
			return true, nil
		})
	})
	n, _ = strconv.Atoi(got["n"]) // 0 where there is none
	want := s.after(n)
	if do != nil && n == 1 { // the last operation's turn has come round
		want = got
	}
	if err == nil && !maps.Equal(got, want) {
		err = fmt.Errorf("it holds what no operation has left: %d rows, and %d after operation %d", len(got), len(want), n)
	}
	return n, err
}

// TestPowerCutsOfFileAndLog cuts the power of a disk with a file and its log at any moment. What is left of the unsynced writes is any part of them, torn at
// sectors; segments are used again with old records in them. Everything that was answered is there, once, and nothing else.
func TestPowerCutsOfFileAndLog(t *testing.T) {
	t.Parallel()
	proof.Unraced(t)
	seed := proof.Seed(t)
	s := acted(t, play{seed})
	images := proof.Count(playSample, playImages)
	room := proof.Memory(t)
	draw := rand.New(rand.NewPCG(seed, 1))
	cuts := make([]int, images)
	for i := range cuts {
		cuts[i] = draw.IntN(s.medium.Length() + 1)
	}
	s.each(cuts, seed, func(i, cut int, image *disk.Image) {
		dir := filepath.Join(room, strconv.Itoa(i))
		if err := s.look(image, dir, cut); err != nil {
			t.Errorf("image %d, cut at %d of %d: %v", i, cut, s.medium.Length(), err)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	t.Logf("%d images", images)
}

// each draws an image at each cut and hands it to one of a few goroutines.
func (s *story) each(cuts []int, seed uint64, look func(i, cut int, image *disk.Image)) {
	var all sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	defer all.Wait()
	slices.Sort(cuts)
	for i, cut := range cuts {
		s.medium.Advance(cut)
		r := rand.New(rand.NewPCG(seed, uint64(i+2)))
		luck := disk.Any(r)
		switch i % 8 {
		case 0:
			luck = disk.Nothing()
		case 1:
			luck = disk.Everything()
		case 2, 3, 4:
			luck = s.medium.Until(r)
		}
		image := s.medium.Draw(luck)
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			look(i, cut, image)
		})
	}
}
