package wal_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"doorward/kv/engine/wal"
	"doorward/kv/kvtest/proof"

	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	proof.Draws(20, 400)
	os.Exit(m.Run())
}

var id = wal.ID{1, 2, 3}

// written is a log and what was appended to it.
type written struct {
	t       testing.TB
	dir     string
	log     *wal.Log
	records []string // from sequence 1 on
}

func newLog(t testing.TB) *written {
	t.Helper()
	w := &written{t: t, dir: filepath.Join(proof.Memory(t), "log")}
	log, err := wal.Create(w.dir, id, wal.Position{}, 1)
	w.must(err)
	w.log = log
	return w
}

func (w *written) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *written) append(text string) {
	w.t.Helper()
	_, err := w.log.Append([]byte(text[:len(text)/2]), []byte(text[len(text)/2:]))
	w.must(err)
	w.records = append(w.records, text)
}

// read is what a reader finds beyond a position.
func (w *written) read(from wal.Position) (got []string, tail wal.Tail, err error) {
	tail, err = wal.Read(w.dir, id, from, func(r wal.Record) error {
		if r.Sequence != from.Sequence+uint64(len(got))+1 {
			w.t.Errorf("sequence %d comes as number %d behind %d", r.Sequence, len(got), from.Sequence)
		}
		got = append(got, string(r.Payload))
		return nil
	})
	return got, tail, err
}

// wants reads the whole log.
func (w *written) wants(from wal.Position) wal.Tail {
	w.t.Helper()
	got, tail, err := w.read(from)
	if err != nil || !slices.Equal(got, w.records[from.Sequence:]) {
		w.t.Fatalf("read %d records behind %d, %v, want %d", len(got), from.Sequence, err, len(w.records)-int(from.Sequence))
	}
	return tail
}

// files are the log's segments that were written to, in their order.
func (w *written) files() (paths []string) {
	all, err := filepath.Glob(filepath.Join(w.dir, "*.seg"))
	w.must(err)
	index := map[string]uint64{}
	for _, path := range all {
		b, err := os.ReadFile(path)
		w.must(err)
		if index[path] = binary.BigEndian.Uint64(b[24:]); index[path] > 0 {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return int(index[a]) - int(index[b]) })
	return paths
}

// several is a log of three segments, of which the last is used for the second time.
func several(t testing.TB) *written {
	w := newLog(t)
	for i := range 5 {
		w.append(fmt.Sprintf("an old record %d of a segment that is used again, and it is longer", i))
	}
	w.must(w.log.Rotate())
	w.append("six")
	w.append("seven")
	w.log.Release(5)
	w.must(w.log.Rotate())
	w.append("eight, in the place of one and two")
	w.append("")
	w.append("ten")
	return w
}

func TestWhatWasAppendedIsRead(t *testing.T) {
	w := several(t)
	from := w.position(7)
	tail := w.wants(from)
	if tail.Sequence != 10 || tail.Records != 3 || tail.Ended || tail.Dropped {
		t.Errorf("the log ends with %+v", tail)
	}
	if n := len(w.files()); n != 2 {
		t.Errorf("%d segments, want 2: the first is used again", n)
	}
	w.must(w.log.End())
	if tail := w.wants(from); !tail.Ended || tail.Sequence != 10 {
		t.Errorf("after its end the log ends with %+v", tail)
	}
	w.must(w.log.Remove())
	if _, _, err := w.read(from); !errors.Is(err, wal.ErrMissing) {
		t.Errorf("a log that was removed: %v", err)
	}
	if _, err := os.Stat(w.dir); !os.IsNotExist(err) {
		t.Errorf("its folder: %v", err)
	}
}

// position is the place behind a record of a log of which the first five are gone.
func (w *written) position(sequence int) (p wal.Position) {
	w.t.Helper()
	p = wal.Position{Sequence: 5, Chain: 0}
	path := w.files()[0]
	b, err := os.ReadFile(path)
	w.must(err)
	p.Chain = binary.BigEndian.Uint32(b[48:])
	_, err = wal.Read(w.dir, id, p, func(r wal.Record) error {
		if r.Sequence <= uint64(sequence) {
			p = wal.Position{Sequence: r.Sequence, Chain: r.Chain}
		}
		return nil
	})
	w.must(err)
	return p
}

// spoiled reads a log with a change in one of its segments: all but the last record are there, or it says that it is damaged.
func (w *written) spoiled(from wal.Position, path, what string, mayLose int, change func([]byte) []byte) {
	w.t.Helper()
	whole, err := os.ReadFile(path)
	w.must(err)
	w.must(os.WriteFile(path, change(bytes.Clone(whole)), 0o600))
	got, tail, err := w.read(from)
	want := w.records[from.Sequence:]
	var damaged *wal.Damaged
	switch {
	case len(got) > len(want) || !slices.Equal(got, want[:len(got)]):
		w.t.Errorf("%s: %q was read, and never written", what, got)
	case errors.Is(err, wal.ErrMissing): // its only segment has no header
	case errors.As(err, &damaged):
		if damaged.Kept != from.Sequence+uint64(len(got)) {
			w.t.Errorf("%s: %d records came, and %v", what, len(got), err)
		}
	case err != nil:
		w.t.Errorf("%s: %v", what, err)
	case len(got) < len(want)-mayLose:
		w.t.Errorf("%s: %d of %d records are lost without a word, the log ends with %+v", what, len(want)-len(got), len(want), tail)
	}
	w.must(os.WriteFile(path, whole, 0o600))
}

// A sample flips one in so many bits of a log, and cuts it at one in so many bytes. They are odd, so that each bit of a byte has its turn.
const (
	flipShare = 89
	cutShare  = 11
)

// TestNoBitFlipsUnnoticed: a log with a bit that is not what it was gives all but its last record, or is refused.
func TestNoBitFlipsUnnoticed(t *testing.T) {
	w := several(t)
	from := w.position(5)
	chosen := proof.Sampled(proof.Seed(t), flipShare)
	for n, path := range w.files() {
		for at := range 900 {
			for bit := range 8 {
				if !chosen() {
					continue
				}
				w.spoiled(from, path, fmt.Sprintf("segment %d, bit %d of byte %d", n, bit, at), 1, func(b []byte) []byte {
					b[at] ^= 1 << bit
					return b
				})
			}
		}
	}
}

// TestNoTruncationIsUnnoticed: the same of a segment that was cut short. Where the end of the last segment became zeros, all that can be told is
// that nothing else is read than what was written.
func TestNoTruncationIsUnnoticed(t *testing.T) {
	w := several(t)
	from := w.position(5)
	chosen := proof.Sampled(proof.Seed(t), cutShare)
	for n, path := range w.files() {
		for at := range 900 {
			if !chosen() {
				continue
			}
			w.spoiled(from, path, fmt.Sprintf("segment %d cut at %d", n, at), 3*max(0, 1-at), func(b []byte) []byte { return b[:at] })
			if at%8 == 0 {
				w.spoiled(from, path, fmt.Sprintf("segment %d zero from %d", n, at), 3*n, func(b []byte) []byte { clear(b[at:]); return b })
			}
		}
	}
}

// TestASegmentThatIsGoneIsNoticed, wherever it was.
func TestASegmentThatIsGoneIsNoticed(t *testing.T) {
	w := newLog(t)
	for i := range 4 {
		w.append(fmt.Sprint("record ", i))
		w.must(w.log.Rotate())
	}
	w.append("the last one")
	paths := w.files()
	for i, path := range paths {
		away := path + ".away"
		w.must(os.Rename(path, away))
		got, _, err := w.read(wal.Position{})
		if last := i == len(paths)-1; (err == nil) != last || err == nil && len(got) != len(w.records)-1 {
			t.Errorf("without segment %d: %d records, %v", i, len(got), err)
		}
		w.must(os.Rename(away, path))
	}
}

// TestASegmentThatIsRemovedWhileTheFolderIsReadIsLeftOut: it comes and goes between the look at the folder and the look at its segments.
func TestASegmentThatIsRemovedWhileTheFolderIsReadIsLeftOut(t *testing.T) {
	w := newLog(t)
	w.append("one record")
	stray, over := filepath.Join(w.dir, "ffffffff.seg"), make(chan struct{})
	var other sync.WaitGroup
	other.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				_ = errors.Join(os.WriteFile(stray, nil, 0o600), os.Remove(stray)) // a segment that could not be made is removed so
			}
		}
	})
	defer other.Wait()
	defer close(over)
	for range proof.Count(200, 1000) {
		w.wants(wal.Position{})
	}
}

// TestALogOfAnotherPastIsRefused: the file knows the checksum of the last record that it has.
func TestALogOfAnotherPastIsRefused(t *testing.T) {
	w := several(t)
	p := w.position(8)
	p.Chain++
	if _, _, err := w.read(p); err == nil || !strings.Contains(err.Error(), "is not the log that the file was written from") {
		t.Errorf("another chain: %v", err)
	}
	if _, _, err := w.read(wal.Position{Sequence: 11}); err == nil || !strings.Contains(err.Error(), "ends before sequence 11") {
		t.Errorf("a log that is behind its file: %v", err)
	}
	if _, _, err := w.read(wal.Position{Sequence: 2}); err == nil || !strings.Contains(err.Error(), "those before it are missing") {
		t.Errorf("a log whose beginning is gone: %v", err)
	}
	if _, err := wal.Read(w.dir, wal.ID{9}, wal.Position{}, nil); !errors.Is(err, wal.ErrMissing) {
		t.Errorf("another log: %v", err)
	}
}

// TestAnotherLogIsSetAside: what has not ended is moved, what has ended is removed.
func TestAnotherLogIsSetAside(t *testing.T) {
	w := several(t)
	to := filepath.Join(filepath.Dir(w.dir), "aside")
	if moved, err := wal.SetAside(w.dir, id, to); moved || err != nil {
		t.Errorf("the log itself: %t, %v", moved, err)
	}
	w.must(wal.RemoveEnded(w.dir))
	if tail := w.wants(w.position(5)); tail.Sequence != 10 {
		t.Errorf("a log that has not ended was removed: %+v", tail)
	}
	if moved, err := wal.SetAside(w.dir, wal.ID{9}, to); !moved || err != nil {
		t.Errorf("a log that is not the file's: %t, %v", moved, err)
	}
	w.dir = to
	w.wants(w.position(5))
}

// TestFollowersReadAll: a follower reads what is appended, also from segments that are needed no more, until they are used again.
func TestFollowersReadAll(t *testing.T) {
	w := newLog(t)
	f, err := w.log.Follow(0)
	w.must(err)
	next := make(chan string)
	go func() {
		defer close(next)
		for range 300 {
			r, err := f.Next(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			next <- string(r.Payload)
		}
	}()
	for i := range 300 {
		w.append(fmt.Sprint("record ", i, strings.Repeat("x", i*20)))
		if got := <-next; got != w.records[i] {
			t.Fatalf("the follower reads %.20q, want %.20q", got, w.records[i])
		}
		w.log.Release(uint64(max(0, i-10)))
	}
	late, err := w.log.Follow(298)
	w.must(err)
	w.log.Release(300)
	w.must(w.log.Rotate())
	w.log.Release(300)
	w.must(w.log.Erase())
	if _, err := late.Next(t.Context()); !errors.Is(err, wal.ErrGone) {
		t.Errorf("a record that was erased: %v", err)
	}
	if _, err := w.log.Follow(0); !errors.Is(err, wal.ErrGone) {
		t.Errorf("from the beginning: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	now, err := w.log.Follow(300)
	w.must(err)
	if _, err := now.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("with no record more: %v", err)
	}
}

// TestNoOldBytesLieInASegmentThatIsBegunBehindACut, whatever is reserved before it, and appended and released after it, before the erasing ends.
func TestNoOldBytesLieInASegmentThatIsBegunBehindACut(t *testing.T) {
	for name, reserve := range map[string]int{"nothing is reserved": 0, "an old segment is reserved": 1_000_000} {
		t.Run(name, func(t *testing.T) {
			w := newLog(t)
			for round := range 12 {
				old := fmt.Sprintf("old of round %d ", round)
				for i := range 40 {
					if i == 20 && round%2 == 0 {
						w.must(w.log.Erase())
					}
					w.append(strings.Repeat(old, 7000))
					w.log.Release(w.log.Tail().Sequence)
				}
				w.must(w.log.Reserve(reserve))
				w.must(w.log.Cut())
				kept := w.log.Tail()
				for i := range 4 * (round + 1) {
					w.append(strings.Repeat("x", 100_000))
					if i == 2 {
						w.log.Release(kept.Sequence)
					}
				}
				w.must(w.log.Erase())
				for _, path := range w.files() {
					if b, err := os.ReadFile(path); err != nil || bytes.Contains(b, []byte(old)) {
						t.Errorf("in round %d %s still has what was appended before the cut, %v", round, filepath.Base(path), err)
					}
				}
				w.wants(kept)
			}
			w.must(w.log.Close())
		})
	}
}

// TestErasingLeavesTheAppenderItsSpareSegments: it does not have to make one more in each erasing.
func TestErasingLeavesTheAppenderItsSpareSegments(t *testing.T) {
	w, over := newLog(t), make(chan struct{})
	var erasing sync.WaitGroup
	erasing.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				if err := w.log.Erase(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 3000 {
		w.append(strings.Repeat("x", 100_000))
		w.log.Release(w.log.Tail().Sequence)
	}
	close(over)
	erasing.Wait()
	if live, spare := w.log.Segments(); live+spare > 10 {
		t.Errorf("there are %d segments, want a few", live+spare)
	}
	w.must(w.log.Close())
}

// TestDrawnLogs: appending, releasing, erasing, ends and crashes that tear the last record, against a list.
func TestDrawnLogs(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newLog(t)
		kept := wal.Position{}
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			switch rapid.IntRange(0, 9).Draw(r, "step") {
			case 0:
				kept = w.log.Tail()
				w.log.Release(kept.Sequence)
			case 1:
				w.must(w.log.Erase())
			case 2:
				w.must(w.log.Rotate())
			case 3:
				w.must(w.log.Prepare())
			case 4:
				w.crash(kept, rapid.Bool().Draw(r, "ended"), rapid.IntRange(0, 200).Draw(r, "torn at"))
			default:
				w.append(strings.Repeat("y", rapid.SampledFrom([]int{0, 1, 100, 3000, 90_000, 300_000}).Draw(r, "size")))
			}
		}
		w.wants(kept)
		w.must(w.log.Close())
	})
}

// crash begins a record that is torn, unless the log ends, and goes on as after a crash.
func (w *written) crash(kept wal.Position, ended bool, torn int) {
	w.t.Helper()
	if ended {
		w.must(w.log.End())
	} else if torn > 0 {
		_, err := w.log.Append(bytes.Repeat([]byte("torn"), 100))
		w.must(err)
		paths := w.files()
		path := paths[len(paths)-1]
		b, err := os.ReadFile(path)
		w.must(err)
		at := bytes.Index(b, append(binary.BigEndian.AppendUint64(nil, w.log.Tail().Sequence), "torn"...)) + 8 // its payload; the sequence is before it
		clear(b[at-32+torn : at+400])
		w.must(os.WriteFile(path, b, 0o600))
	}
	w.must(w.log.Close())
	tail := w.wants(kept)
	if ended && !tail.Ended {
		w.t.Fatal("the log has ended, and its reader does not tell")
	}
	log, err := wal.Resume(w.dir, id, tail)
	w.must(err)
	w.log = log
}

// TestARecordOfAnotherPastIsNotRead: two copies of a log go on apart, and a record of one lies where the other's should. Its sequence, its log and its own
// checksum fit, and it does not follow.
func TestARecordOfAnotherPastIsNotRead(t *testing.T) {
	w := newLog(t)
	w.append("before they part")
	w.must(w.log.Close())
	tail := w.wants(wal.Position{})
	other := &written{t: t, dir: filepath.Join(proof.Memory(t), "log"), records: slices.Clone(w.records)}
	w.must(os.CopyFS(other.dir, os.DirFS(w.dir)))
	for _, one := range []*written{w, other} {
		log, err := wal.Resume(one.dir, id, tail)
		w.must(err)
		one.log = log
		one.append("one of " + map[bool]string{true: "ours", false: "them"}[one == w])
		one.append("two of " + map[bool]string{true: "ours", false: "them"}[one == w])
	}
	ours, theirs := w.files(), other.files()
	a, err := os.ReadFile(ours[len(ours)-1])
	w.must(err)
	b, err := os.ReadFile(theirs[len(theirs)-1])
	w.must(err)
	second := bytes.Index(a, []byte("two of")) - 32
	w.must(os.WriteFile(ours[len(ours)-1], slices.Concat(a[:second], b[second:]), 0o600))
	got, _, err := w.read(wal.Position{})
	if slices.Contains(got, "two of them") || len(got) < 2 {
		t.Errorf("%q was read, %v", got, err)
	}
}
