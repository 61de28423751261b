package main

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"testing"

	"doorward/kv/kvtest/disk"
)

// cutRecord is one power cut, so that it can be made again.
type cutRecord struct {
	Name  string
	Story []byte
	Seed  uint64
	Image int
	At    int
	Wants []cutWants
}

// failed tells of an image that is not as it should be, and keeps the first of a test to be looked at again.
func (l *laboratory) failed(t *testing.T, s story, seed uint64, i, at int, v cutVerdict) {
	t.Helper()
	again := ""
	if !t.Failed() {
		file, err := s.keep(seed, i, at)
		again = fmt.Sprintf("\nonce more: DOORWARD_POWERCUT=%s go test -run '^TestPowerCutOnceMore$' ./cmd/doorward", file)
		if err != nil {
			again = fmt.Sprintf("\nit could not be kept: %v", err)
		}
	}
	t.Errorf("%s: seed %d, image %d, power cut at %d of %d: %s%s", s.name, seed, i, at, s.medium.Length(), v.Problem, again)
}

// keep writes a power cut to a file that outlives the test.
func (s story) keep(seed uint64, i, at int) (name string, err error) {
	r := cutRecord{Name: s.name, Seed: seed, Image: i, At: at, Wants: s.wants(at)}
	var text bytes.Buffer
	if err := s.medium.Save(&text); err != nil {
		return "", err
	}
	r.Story = text.Bytes()
	f, err := os.CreateTemp("", "powercut-*.story")
	if err != nil {
		return "", err
	}
	return f.Name(), errors.Join(gob.NewEncoder(f).Encode(r), f.Close())
}

// TestPowerCutOnceMore makes a power cut that TestPowerCut has kept: the same image, checked the same way.
func TestPowerCutOnceMore(t *testing.T) {
	name := os.Getenv("DOORWARD_POWERCUT")
	if name == "" {
		t.Skip("DOORWARD_POWERCUT names no story of a power cut")
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	var r cutRecord
	if err := gob.NewDecoder(f).Decode(&r); err != nil {
		t.Fatal(err)
	}
	m, err := disk.Load(bytes.NewReader(r.Story))
	if err != nil {
		t.Fatal(err)
	}
	m.Advance(r.At)
	l := &laboratory{checkers: startCheckers(t, 1)}
	s := story{r.Name, m, r.At, func(int) []cutWants { return r.Wants }}
	found := make(chan cutVerdict, 1)
	l.check(s.draw(r.Seed, r.Image, r.At), func(v cutVerdict) { found <- v })
	if v := <-found; v.Problem != "" {
		t.Errorf("%s: %s", r.Name, v.Problem)
	}
}
