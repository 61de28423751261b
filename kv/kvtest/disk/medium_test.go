package disk

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// filled is a disk with a file that holds synced text under a synced name.
func filled(t *testing.T, c Config, text string) (*Disk, *File) {
	t.Helper()
	d := New(c)
	f, errno := d.make(d.Root(), "file", 0o600)
	if errno != 0 {
		t.Fatal(errno)
	}
	put(t, d, f, text, 0)
	if err := errors.Join(d.sync(f), d.sync(d.Root())); err != nil {
		t.Fatal(err)
	}
	return d, f
}

func put(t *testing.T, d *Disk, f *File, text string, at int64) {
	t.Helper()
	if n, errno := d.write(f, []byte(text), at); n != len(text) || errno != 0 {
		t.Fatalf("write = %d, %v", n, errno)
	}
}

// outcomes are all that a file may hold after a power cut at the end, of many draws; "-" = there is no such name.
func outcomes(d *Disk, name string) map[string]bool {
	m := d.Medium()
	m.Advance(m.Length())
	r := rand.New(rand.NewPCG(1, 2))
	found := map[string]bool{}
	see := func(l Luck) {
		if i := m.Draw(l).Find(name); i != nil {
			found[string(i.Bytes())] = true
		} else {
			found["-"] = true
		}
	}
	see(Nothing())
	see(Everything())
	for range 500 {
		see(m.Until(r))
		see(Any(r))
	}
	return found
}

func same(t *testing.T, what string, got map[string]bool, want ...string) {
	t.Helper()
	ok := len(got) == len(want)
	for _, w := range want {
		ok = ok && got[w]
	}
	if !ok {
		t.Errorf("%s leaves %q, want each of %q", what, slices.Sorted(maps.Keys(got)), want)
	}
}

func TestWhatAPowerCutLeaves(t *testing.T) {
	t.Run("what was synced is there", func(t *testing.T) {
		d, _ := filled(t, Config{}, "old")
		same(t, "a sync", outcomes(d, "file"), "old")
	})
	t.Run("a later write may be", func(t *testing.T) {
		d, f := filled(t, Config{}, "old")
		put(t, d, f, "new", 0)
		same(t, "a write", outcomes(d, "file"), "old", "new")
	})
	t.Run("of two writes each may be, in whatever order", func(t *testing.T) {
		d, f := filled(t, Config{}, "....")
		put(t, d, f, "a", 0)
		put(t, d, f, "b", 1)
		same(t, "two writes", outcomes(d, "file"), "....", "a...", ".b..", "ab..")
	})
	t.Run("the later of two in one place may be all there is", func(t *testing.T) {
		d, f := filled(t, Config{}, ".")
		put(t, d, f, "a", 0)
		put(t, d, f, "b", 0)
		same(t, "two writes", outcomes(d, "file"), ".", "a", "b")
	})
	t.Run("a size too", func(t *testing.T) {
		d, f := filled(t, Config{}, "old")
		d.resize(f, 1)
		same(t, "a cut", outcomes(d, "file"), "old", "o")
	})
	t.Run("a sync saves what was written before it began", func(t *testing.T) {
		var d *Disk
		var f *File
		begun := false
		d, f = filled(t, Config{Sync: func(string) error {
			if begun {
				begun = false
				put(t, d, f, "c", 2)
			}
			return nil
		}}, "...")
		put(t, d, f, "a", 0)
		begun = true
		if err := d.sync(f); err != nil {
			t.Fatal(err)
		}
		same(t, "a write beside a sync", outcomes(d, "file"), "a..", "a.c")
	})
	t.Run("what a sync has failed to save none saves", func(t *testing.T) {
		var fails error
		d, f := filled(t, Config{Sync: func(string) error { return fails }}, "...")
		put(t, d, f, "a", 0)
		fails = errors.New("no")
		if d.sync(f) == nil {
			t.Fatal("the sync did not fail")
		}
		fails = nil
		put(t, d, f, "b", 1)
		if err := d.sync(f); err != nil {
			t.Fatal(err)
		}
		same(t, "a failed sync", outcomes(d, "file"), ".b.", "ab.")
	})
}

func TestNamesAPowerCutLeaves(t *testing.T) {
	second := func(t *testing.T, d *Disk) *File {
		f, _ := d.make(d.Root(), "new", 0o600)
		put(t, d, f, "new", 0)
		if err := d.sync(f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	t.Run("the sync of a file saves no name", func(t *testing.T) {
		d, _ := filled(t, Config{}, "old")
		second(t, d)
		same(t, "a name", outcomes(d, "new"), "-", "new")
	})
	t.Run("a rename is atomic", func(t *testing.T) {
		d, _ := filled(t, Config{}, "old")
		second(t, d)
		if errno := d.rename(d.Root(), "new", d.Root(), "file"); errno != 0 {
			t.Fatal(errno)
		}
		same(t, "a rename", outcomes(d, "file"), "old", "new")
		if err := d.sync(d.Root()); err != nil {
			t.Fatal(err)
		}
		same(t, "a rename whose folder was synced", outcomes(d, "file"), "new")
		same(t, "a rename whose folder was synced", outcomes(d, "new"), "-")
	})
	t.Run("what is in a file that was not synced does not come with its name", func(t *testing.T) {
		d := New(Config{})
		f, _ := d.make(d.Root(), "file", 0o600)
		put(t, d, f, "new", 0)
		if err := d.sync(d.Root()); err != nil {
			t.Fatal(err)
		}
		same(t, "a name", outcomes(d, "file"), "", "new")
	})
	t.Run("a file lives on under its other name", func(t *testing.T) {
		d, f := filled(t, Config{}, "old")
		if errno := d.link(f, d.Root(), "kept"); errno != 0 {
			t.Fatal(errno)
		}
		second(t, d)
		d.rename(d.Root(), "new", d.Root(), "file")
		if err := d.sync(d.Root()); err != nil {
			t.Fatal(err)
		}
		same(t, "a link", outcomes(d, "kept"), "old")
	})
	t.Run("a removed name may come back", func(t *testing.T) {
		d, _ := filled(t, Config{}, "old")
		d.remove(d.Root(), "file")
		same(t, "a removal", outcomes(d, "file"), "old", "-")
	})
}

func TestWritesAreTornAtSectors(t *testing.T) {
	d, f := filled(t, Config{}, string(bytes.Repeat([]byte{'.'}, 3*SectorSize)))
	put(t, d, f, string(bytes.Repeat([]byte{'x'}, 2*SectorSize)), 100)
	found := outcomes(d, "file")
	for image := range found {
		for _, sector := range []string{image[:SectorSize], image[SectorSize : 2*SectorSize], image[2*SectorSize:]} {
			if n := len(bytes.Trim([]byte(sector), ".")); n != 0 && n != SectorSize-100 && n != SectorSize && n != 100 {
				t.Fatalf("a sector has %d bytes of the write", n)
			}
		}
	}
	if len(found) != 8 {
		t.Errorf("%d images of a write over three sectors, want 8", len(found))
	}
}

func TestOneSeedDrawsOneImage(t *testing.T) {
	d, f := filled(t, Config{}, string(make([]byte, 40*SectorSize)))
	for i := range int64(20) {
		put(t, d, f, "0123456789", i*1000)
	}
	var story bytes.Buffer
	if err := d.Medium().Save(&story); err != nil {
		t.Fatal(err)
	}
	again, err := Load(&story)
	if err != nil {
		t.Fatal(err)
	}
	m := d.Medium()
	m.Advance(m.Length())
	again.Advance(again.Length())
	for seed := range uint64(50) {
		a := m.Draw(Any(rand.New(rand.NewPCG(seed, 0)))).Find("file").Bytes()
		b := again.Draw(Any(rand.New(rand.NewPCG(seed, 0)))).Find("file").Bytes()
		if !bytes.Equal(a, b) {
			t.Fatalf("seed %d draws two images", seed)
		}
	}
}

func TestAnImageStaysAsTheStoryGoesOn(t *testing.T) {
	d, f := filled(t, Config{}, "old")
	before := d.Position()
	put(t, d, f, "new", 0)
	if err := d.sync(f); err != nil {
		t.Fatal(err)
	}
	m := d.Medium()
	m.Advance(before)
	image := m.Draw(Everything())
	m.Advance(m.Length())
	if text := string(image.Find("file").Bytes()); text != "old" {
		t.Errorf("an image of before holds %q", text)
	}
}

func TestAnImageIsADiskAgain(t *testing.T) {
	d, f := filled(t, Config{}, "text")
	d.resize(f, 3*blockSize+7)
	put(t, d, f, "far", 2*blockSize)
	folder, _ := d.make(d.Root(), "folder", fs.ModeDir|0o700)
	d.link(f, folder, "twin")
	m := d.Medium()
	m.Advance(m.Length())
	image := m.Draw(Everything())
	want := image.Find("file").Bytes()

	next := image.Disk(Config{}).Medium()
	next.Advance(next.Length())
	if got := next.Draw(Nothing()).Find("folder", "twin").Bytes(); !bytes.Equal(got, want) {
		t.Errorf("on the next disk the file has %d bytes, want %d, or others", len(got), len(want))
	}
	dir := filepath.Join(t.TempDir(), "plain")
	if err := image.Write(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "folder", "twin")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the plain file has %d bytes, want %d, or others: %v", len(got), len(want), err)
	}
}

func TestAFullDisk(t *testing.T) {
	d, f := filled(t, Config{}, "text")
	d.SetRoom(blockSize, blockSize)
	if n, errno := d.write(f, make([]byte, 3*blockSize), 0); n != 2*blockSize || errno != 0 {
		t.Errorf("write = %d, %v, want what there was room for", n, errno)
	}
	if n, errno := d.write(f, []byte("more"), 2*blockSize); n != 0 || errno == 0 {
		t.Errorf("write on a full disk = %d, %v", n, errno)
	}
	put(t, d, f, "over", 0)
	d.remove(d.Root(), "file")
	if d.room != 2*blockSize {
		t.Errorf("a removed file leaves room for %d bytes, want %d", d.room, 2*blockSize)
	}
}
