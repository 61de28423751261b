package kv_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"
)

// flipVariable tells this test program to be a reader of damaged files, and of which file.
const flipVariable = "DOORWARD_TEST_FLIPS_OF"

// flipReady is what a reader says first.
const flipReady = "ready"

const (
	flipsAtLeast  = 610
	flipsOfSample = 60
	flipReaders   = 2
)

// flip is what was done to a file: bit is of the byte at an offset, -1 = the file ends there.
type flip struct{ offset, bit int }

func (f flip) of(sound []byte) []byte {
	if f.bit < 0 {
		return sound[:f.offset]
	}
	image := append([]byte(nil), sound...)
	image[f.offset] ^= 1 << f.bit
	return image
}

func (f flip) String() string { return fmt.Sprintf("byte %d bit %d", f.offset, f.bit) }

// drawnFlip hits every part of a file: now and then it cuts it, and of the flips some hit what pages say of themselves, some the
// tables of where their keys lie, most a byte that is not zero, as used ones seldom are, and some any byte.
func drawnFlip(draw *rand.Rand, sound []byte) flip {
	const page = 8192
	begin := draw.IntN(len(sound)/page) * page
	table := 16 * int(binary.LittleEndian.Uint16(sound[begin+10:]))
	f := flip{draw.IntN(len(sound)), draw.IntN(8)}
	switch part := draw.IntN(20); {
	case part == 0:
		f.bit = -1
	case part == 1:
		f.offset = draw.IntN(2)*page + 16 + draw.IntN(64) // a head
	case part < 5:
		f.offset = begin + draw.IntN(16)
	case part < 9 && table > 0 && table < page-16:
		f.offset = begin + 16 + draw.IntN(table)
	case part < 18:
		for sound[f.offset] == 0 {
			f.offset = draw.IntN(len(sound))
		}
	}
	return f
}

// TestNoFlippedBitIsMissedOrServed damages a store's file in every place. Verify finds whatever changes what the file holds, and a
// store that opens it answers what was written, or an error which the metric counts: no count, no decision and no "not found" is
// made of what is damaged. A seed draws the same places again, in a file that differs in ids and times alone.
func TestNoFlippedBitIsMissedOrServed(t *testing.T) {
	proof.Unraced(t)
	file := everyRow(t)
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	seed, least := proof.Seed(t), proof.Count(flipsOfSample, flipsAtLeast)
	t.Logf("%d bytes", len(sound))
	until := time.Now().Add(proof.Torture(t))
	total := &flipTotal{left: least, until: until, draw: rand.New(rand.NewPCG(seed, 0)), sound: sound}
	var all sync.WaitGroup
	for range flipReaders {
		all.Go(func() { total.read(t, file) })
	}
	all.Wait()
	t.Logf("torture: flips=%d found=%d ineffective=%d ended_reader=%d served=%d", total.flips, total.found, total.idle, total.ended, total.served)
	if total.found < least/2 {
		t.Errorf("%d flips of %d changed anything", total.found, total.flips)
	}
}

// flipTotal is what all readers found.
type flipTotal struct {
	mu                                sync.Mutex
	left                              int
	until                             time.Time
	draw                              *rand.Rand
	sound                             []byte
	flips, found, idle, ended, served int
}

// next draws a flip, unless there were enough.
func (total *flipTotal) next() (f flip, ok bool) {
	total.mu.Lock()
	defer total.mu.Unlock()
	if total.left <= 0 && !time.Now().Before(total.until) {
		return f, false
	}
	total.left--
	return drawnFlip(total.draw, total.sound), true
}

// read hands flips to a reader, and another one in the place of each that dies.
func (total *flipTotal) read(t *testing.T, file string) {
	r := newFlipReader(t, file)
	defer func() { r.end() }()
	for f, ok := total.next(); ok; f, ok = total.next() {
		verified, answered := r.read(f)
		if answered == "" {
			r.end()
			r = newFlipReader(t, file)
		}
		total.judge(t, f, verified, answered)
	}
}

func (total *flipTotal) judge(t *testing.T, f flip, verified, answered string) {
	total.mu.Lock()
	defer total.mu.Unlock()
	total.flips++
	switch verified {
	case "found":
		total.found++
	case "nothing changed":
		total.idle++
	default:
		t.Errorf("%v: %s", f, verified)
	}
	switch answered {
	case "right":
	case "":
		total.ended++
		t.Errorf("%v ends who opens or reads the file", f)
	default:
		total.served++
		t.Errorf("%v (verify: %s): %s", f, verified, answered)
	}
}

// flipReader is a child process that reads damaged files, since one of them may end it.
type flipReader struct {
	child *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Scanner
}

func newFlipReader(t *testing.T, file string) *flipReader {
	t.Helper()
	r := &flipReader{child: exec.Command(os.Args[0])}
	r.child.Env = append(os.Environ(), flipVariable+"="+file, "TMPDIR="+t.TempDir())
	r.child.Stderr = os.Stderr
	in, err := r.child.StdinPipe()
	out, failed := r.child.StdoutPipe()
	if err := errors.Join(err, failed, r.child.Start()); err != nil {
		t.Error(err)
	}
	r.in, r.out = in, bufio.NewScanner(out)
	r.out.Buffer(nil, 1<<20)
	if !r.out.Scan() || r.out.Text() != flipReady {
		t.Fatalf("a reader that has met no damage says %q", r.out.Text())
	}
	return r
}

// read has the reader verify a damaged file and ask it everything; "" means that it has died of it.
func (r *flipReader) read(f flip) (verified, answered string) {
	if _, err := fmt.Fprintln(r.in, f.offset, f.bit); err != nil || !r.out.Scan() {
		return "", ""
	}
	verified, answered, _ = strings.Cut(r.out.Text(), "\t")
	return verified, answered
}

func (r *flipReader) end() {
	_ = r.in.Close()   // it may have died
	_ = r.child.Wait() // so it has ended
}
