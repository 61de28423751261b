package engine_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"testing"

	"doorward/kv/engine"
	"doorward/kv/kvtest/proof"
)

// A page of the file, and where its head says what it is.
const (
	page       = 8 << 10
	branchFlag = 1
	leafFlag   = 2
	listFlag   = 16
)

// pages is the file of an engine that was stopped, as bytes.
type pages []byte

func (p pages) at(id uint64) []byte    { return p[id*page : (id+1)*page] }
func (p pages) flags(id uint64) uint16 { return binary.LittleEndian.Uint16(p.at(id)[8:]) }
func (p pages) count(id uint64) int    { return int(binary.LittleEndian.Uint16(p.at(id)[10:])) }

// meta is the page that counts of the first two.
func (p pages) meta() uint64 {
	number := func(id uint64) uint64 { return binary.LittleEndian.Uint64(p.at(id)[16+48:]) }
	if number(1) > number(0) {
		return 1
	}
	return 0
}

func (p pages) list() uint64 { return binary.LittleEndian.Uint64(p.at(p.meta())[16+32:]) }

// element is where a branch says to which page its entry leads.
func (p pages) element(id uint64, n int) []byte { return p.at(id)[16+16*n+8:] }

// free are the numbers of the free pages.
func (p pages) free() (ids []uint64) {
	for i := range p.count(p.list()) {
		ids = append(ids, binary.LittleEndian.Uint64(p.at(p.list())[16+8*i:]))
	}
	return ids
}

// kinds are the pages that are in use, by what they are.
func (p pages) kinds() map[uint16][]uint64 {
	all, free := map[uint16][]uint64{}, p.free()
	for id := uint64(2); id < uint64(len(p)/page); id++ {
		if binary.LittleEndian.Uint64(p.at(id)) == id && !slices.Contains(free, id) {
			all[p.flags(id)] = append(all[p.flags(id)], id)
		}
	}
	return all
}

// grown is the file of an engine with branches over branches, and free pages.
func grown(t *testing.T) (*subject, pages) {
	t.Helper()
	s := newSubject(t)
	key := func(i int) []byte { return fmt.Appendf(nil, "%0200d", i) }
	for i := range 2 {
		s.must(s.Do(false, func(tx *engine.Tx) error {
			for n := range 2500 {
				if i == 1 && n%3 == 0 {
					tx.Delete(two, key(n))
				} else if i == 0 {
					tx.Put(two, key(n), make([]byte, 300))
				}
			}
			return nil
		}))
		s.must(s.Fold())
	}
	s.write(map[string]string{"k01": "kept"})
	s.must(s.Close())
	b, err := os.ReadFile(s.config.Path)
	s.must(err)
	return s, b
}

// refused wants a file that has changed to be refused, and left as it is.
func (s *subject) refused(what string, p pages) {
	s.Helper()
	c := s.config
	s.must(os.WriteFile(c.Path, p, 0o600))                             // one file for all cases: it is large
	c.Derive = func(v *engine.View) error { v.Count(two); return nil } // as a room above does, it reads all
	db, err := engine.Open(c)
	var bad *engine.BadFile
	if !errors.As(err, &bad) {
		s.Errorf("%s: opening returns %v", what, err)
	}
	if err == nil {
		s.must(db.Close())
		return
	}
	if after, err := os.ReadFile(c.Path); err != nil || !bytes.Equal(after, p) {
		s.Errorf("%s: the file has changed, %v", what, err)
	}
}

// astrayShare is how many wrong ways of a branch, and how many pages that are wrongly free, there are for each one that a sample tries.
const astrayShare = 5

// TestAPageThatLeadsAstrayIsRefused: a branch may lead to itself, to a branch above it, to a page that another leads to, to one that is free, to the list
// of free pages, and out of the file. bbolt would follow some of these without end.
func TestAPageThatLeadsAstrayIsRefused(t *testing.T) {
	s, p := grown(t)
	kinds := p.kinds()
	if len(kinds[branchFlag]) < 4 || len(p.free()) < 20 || len(kinds[listFlag]) != 1 {
		t.Fatalf("the file has the branches %v, %d free pages and the lists %v", kinds[branchFlag], len(p.free()), kinds[listFlag])
	}
	chosen := proof.Sampled(proof.Seed(t), astrayShare)
	targets := append(slices.Clone(kinds[branchFlag][:3]), kinds[leafFlag][0], kinds[leafFlag][50], p.free()[0], p.free()[10], p.list(), 0, 1, uint64(len(p)/page), 1<<40)
	for _, branch := range kinds[branchFlag][:3] {
		for _, n := range []int{0, p.count(branch) - 1} {
			for _, to := range targets {
				if !chosen() || binary.LittleEndian.Uint64(p.element(branch, n)) == to {
					continue
				}
				q := slices.Clone(p)
				binary.LittleEndian.PutUint64(q.element(branch, n), to)
				s.refused(fmt.Sprintf("entry %d of page %d leads to page %d", n, branch, to), q)
			}
		}
	}
}

// TestALeafThatIsDamagedIsRefused, although the file is read beside the look at the leaves.
func TestALeafThatIsDamagedIsRefused(t *testing.T) {
	s, p := grown(t)
	for i, leaf := range p.kinds()[leafFlag] {
		if i%100 != 0 {
			continue
		}
		for what, at := range map[string]int{"count": 10, "flags": 8, "number": 0, "first key": 16 + 4} {
			q := slices.Clone(p)
			q.at(leaf)[at] ^= 1
			s.refused(fmt.Sprintf("the %s of page %d is damaged", what, leaf), q)
		}
	}
}

// TestAListOfFreePagesThatIsDamagedIsRefused: a page that is wrongly free would be written over.
func TestAListOfFreePagesThatIsDamagedIsRefused(t *testing.T) {
	s, p := grown(t)
	kinds, list := p.kinds(), p.list()
	for what, change := range map[string]func(at []byte){
		"has another number":      func(at []byte) { at[0] ^= 1 },
		"is no list":              func(at []byte) { at[8] ^= 1 },
		"goes on beyond the file": func(at []byte) { at[14] = 1 },
		"goes on over a page":     func(at []byte) { at[12]++ },
		"has a page twice":        func(at []byte) { copy(at[24:32], at[16:24]) },
		"has a head of the file":  func(at []byte) { binary.LittleEndian.PutUint64(at[16:], 1) },
		"has a page beyond the file": func(at []byte) {
			binary.LittleEndian.PutUint64(at[16+8*(p.count(list)-1):], 1<<30)
		},
	} {
		q := slices.Clone(p)
		change(q.at(list))
		s.refused("the list "+what, q)
	}
	chosen := proof.Sampled(proof.Seed(t), astrayShare)
	for _, used := range append(slices.Clone(kinds[branchFlag]), kinds[leafFlag][7:20]...) {
		if !chosen() {
			continue
		}
		q, ids := slices.Clone(p), p.free()
		i, _ := slices.BinarySearch(ids, used)
		ids[min(i, len(ids)-1)] = used
		slices.Sort(ids)
		for i, id := range ids {
			binary.LittleEndian.PutUint64(q.at(list)[16+8*i:], id)
		}
		s.refused(fmt.Sprintf("page %d of flags %d is said to be free", used, p.flags(used)), q)
	}
}

// TestAFileWithoutAListIsOpened, and has one after its next fold.
func TestAFileWithoutAListIsOpened(t *testing.T) {
	s, p := grown(t)
	meta := p.at(p.meta())[16 : 16+64]
	binary.LittleEndian.PutUint64(meta[32:], 1<<64-1)
	sum := fnv.New64a()
	sum.Write(meta[:56])
	binary.LittleEndian.PutUint64(meta[56:], sum.Sum64())
	s.must(os.WriteFile(s.config.Path, p, 0o600))
	s.open()
	s.holds()
	s.write(map[string]string{"k02": "new"})
	s.must(s.Close())
	b, err := os.ReadFile(s.config.Path)
	s.must(err)
	if q := pages(b); q.list() >= uint64(len(q)/page) || q.flags(q.list()) != listFlag {
		t.Errorf("after a fold the list of free pages is page %d", q.list())
	}
	s.open()
	s.holds()
}
