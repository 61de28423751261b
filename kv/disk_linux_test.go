package kv_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

// smallDisk is a file system of so many bytes.
func smallDisk(t *testing.T, bytes int64) (dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// ballast is a file of somebody else that grows until nothing is left.
type ballast struct {
	testing.TB
	file *os.File
}

// grow takes so many bytes of the disk, or what is left of them.
func (b *ballast) grow(bytes int) {
	b.Helper()
	if _, err := b.file.Write(make([]byte, bytes)); err != nil && !errors.Is(err, syscall.ENOSPC) {
		b.Fatal(err)
	}
}

// TestADiskFillsUpAndEmpties fills a real disk to its last byte beside a store that is written to all the while.
func TestADiskFillsUpAndEmpties(t *testing.T) {
	mounted := smallDisk(t, 96<<20)
	c := table.Config{Dir: filepath.Join(mounted, "data"), Disk: &disk.RoomLimits{Imports: 64 << 20, Creates: 32 << 20}}
	s := reopenable(t, c)
	t.Cleanup(func() { _ = s.Close() })
	event := newEvent(t, s, "")
	const tickets = 400
	for i := range tickets {
		newTicket(t, s, event, fmt.Sprintf("K%d", i), "")
	}
	file, err := os.Create(filepath.Join(mounted, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // what is in it does not matter
	other := &ballast{t, file}
	var order []string
	var admitted []int
	for i := range tickets {
		for _, tried := range []struct {
			use string
			err error
		}{
			{"imports", second(s.Desk.Upsert(auth.Operator(), []entry.Row{row(t, record.Church, 0, `{"name":"bulk"}`)}, false))},
			{"creates", second(s.Desk.Create(auth.Operator(), target(record.Church, 0), kvtest.Parse(t, record.Church, `{"name":"new"}`, true)))},
			{"check-ins", second(s.Door.CheckIn(auth.Operator(), door.Attempt{Event: event, Code: fmt.Sprintf("K%d", i)}))},
		} {
			switch {
			case tried.err == nil && tried.use == "check-ins":
				admitted = append(admitted, i)
			case tried.err != nil && !errors.Is(tried.err, disk.ErrFull):
				t.Fatalf("%s on a disk that fills up: %v", tried.use, tried.err)
			case tried.err != nil && !slices.Contains(order, tried.use):
				order = append(order, tried.use)
			}
		}
		other.grow(1 << 20)
	}
	if want := []string{"imports", "creates", "check-ins"}; !slices.Equal(order, want) || len(admitted) == tickets {
		t.Fatalf("refused in the order %v, want %v; %d of %d admitted", order, want, len(admitted), tickets)
	}
	acknowledged := exported(t, s)
	healthy(t, s)
	closed(t, s)
	s = reopenable(t, c) // a restart finds a full disk, and serves what there is
	if got := exported(t, s); !slices.Equal(got, acknowledged) {
		t.Errorf("after a restart there are %d records, want the %d acknowledged", len(got), len(acknowledged))
	}
	if err := s.Tables.Engine.Writable(); !errors.Is(err, disk.ErrFull) {
		t.Errorf("Writable on a full disk = %v", err)
	}
	if err := file.Truncate(0); err != nil {
		t.Fatal(err)
	}
	kvtest.Create(t, s, record.Church, `{"name":"after"}`)
	loaded(t, s, row(t, record.Church, 0, `{"name":"after too"}`))
	for i := range tickets {
		want := outcome.Admitted
		if slices.Contains(admitted, i) {
			want = outcome.AlreadyAdmitted
		}
		scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: fmt.Sprintf("K%d", i)}, want)
	}
	healthy(t, s)
}
