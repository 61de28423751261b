package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"doorward/kv/kvtest/disk"
	"doorward/kv/table"
)

// cutDoors cuts the power of what doors were answered on a disk from a moment on.
func (l *laboratory) cutDoors(t *testing.T, p *powered, b *doorbook, from, images int) {
	p.off()
	l.cuts(t, story{t.Name(), p.disk.Medium(), from, func(cut int) []cutWants { return []cutWants{b.wants(l, 0, cut)} }}, images)
}

// serving is a server under the check-ins of eight clients.
func (l *laboratory) serving(t *testing.T) {
	p, b := l.power(t, l.base.Disk(disk.Config{})), newDoorbook()
	from := p.disk.Position()
	p.start()
	b.admit(l, p, l.codes(0, cutTickets-1), 8)
	l.cutDoors(t, p, b, from, 1500)
}

// slowly has each sync last until every client waits for it.
func (l *laboratory) slowly(t *testing.T) {
	b := newDoorbook()
	p := l.power(t, l.base.Disk(disk.Config{Sync: func(path string) error {
		if isStores(path) {
			b.allWait()
		}
		return nil
	}}))
	from := p.disk.Position()
	p.start()
	for range 8 { // in order: the next is asked when the last was answered
		before := len(b.all)
		b.admit(l, p, l.codes(before, before+15), 1)
	}
	b.admit(l, p, l.codes(120, cutTickets-1), 8)
	for i, a := range b.all[1:120] {
		if instant(t, a).Before(instant(t, b.all[i])) {
			t.Errorf("%s was admitted at %s, and %s after it at %s", b.all[i].code, b.all[i].at, a.code, a.at)
		}
	}
	l.cutDoors(t, p, b, from, 400)
}

// instant is the moment of an admission: a whole second is written without its fraction, so texts have another order.
func instant(t *testing.T, a *asked) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, a.at)
	if err != nil {
		t.Error(err)
	}
	return at
}

// inPieces has writes take less than they are given, in whole sectors, as a kernel does.
func (l *laboratory) inPieces(t *testing.T) {
	draw := rand.New(rand.NewPCG(l.seed(), 0))
	short := make(chan int, 1)
	short <- 0
	p, b := l.power(t, l.base.Disk(disk.Config{Take: func(_ string, n int) int {
		defer func(n int) { short <- n + 1 }(<-short)
		sectors := 1 + draw.IntN((n+disk.SectorSize-1)/disk.SectorSize)
		return min(n, sectors*disk.SectorSize)
	}})), newDoorbook()
	from := p.disk.Position()
	p.start()
	b.admit(l, p, l.codes(0, 60), 8)
	if n := <-short; n < 30 {
		t.Errorf("%d writes were short", n)
	}
	short <- 0
	l.cutDoors(t, p, b, from, 300)
}

// growing serves a file that has no room left for a further page.
func (l *laboratory) growing(t *testing.T) {
	p, b := l.power(t, l.base.Disk(disk.Config{})), newDoorbook()
	from := p.disk.Position()
	size := p.trim()
	p.start()
	b.admit(l, p, l.codes(0, 160), 8)
	p.end() // the log is folded into the file
	if info, err := os.Stat(table.Path(p.dir)); err != nil || info.Size() <= size {
		t.Errorf("the file has not grown: %v", err)
	}
	l.cutDoors(t, p, b, from, 600)
}

// trim cuts a store's file where its last page ends, as the meta page with the higher transaction tells it.
func (p *powered) trim() (size int64) {
	p.Helper()
	f, err := os.OpenFile(table.Path(p.dir), os.O_RDWR, 0)
	if err != nil {
		p.Fatal(err)
	}
	var latest uint64
	for i := range int64(2) {
		meta := make([]byte, 64)
		if _, err := f.ReadAt(meta, i*8192+16); err != nil {
			p.Fatal(err)
		}
		if tx := binary.LittleEndian.Uint64(meta[48:]); tx >= latest {
			size, latest = 8192*int64(binary.LittleEndian.Uint64(meta[40:])), tx
		}
	}
	if err := errors.Join(f.Truncate(size), f.Sync(), f.Close()); err != nil {
		p.Fatal(err)
	}
	return size
}

// compacting compacts a server's file under check-ins.
func (l *laboratory) compacting(t *testing.T) {
	p, b := l.power(t, l.base.Disk(disk.Config{})), newDoorbook()
	from := p.disk.Position()
	p.start()
	b.admit(l, p, l.codes(0, 40), 4)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		b.bring(l, p, l.codes(40, 220), 2, func(code string, status int) bool {
			end := time.Now().Add(time.Minute)
			for status != http.StatusNoContent && status != http.StatusOK { // until the server is back
				if time.Now().After(end) {
					t.Errorf("after the check-in of %s the server did not come back: %d", code, status)
					return false
				}
				status, _ = p.ask(l, http.MethodGet, "/healthz", "")
			}
			return true
		})
	})
	var rep struct{ Bytes int64 }
	p.run(&rep, "compact")
	all.Wait()
	b.admit(l, p, l.codes(220, cutTickets-1), 4)
	l.cutDoors(t, p, b, from, 800)
}

// restoring puts a backup in the place of a store that has gone on since, and goes on itself.
func (l *laboratory) restoring(t *testing.T) {
	p, b := l.power(t, l.base.Disk(disk.Config{})), newDoorbook()
	p.start()
	b.admit(l, p, l.codes(0, 20), 8)
	file := filepath.Join(t.TempDir(), "backup.db")
	var done struct{ Epoch string }
	p.run(&done, "backup", file)
	saved := b.acked()
	b.admit(l, p, l.codes(20, 40), 8)
	p.stop()
	all, from := b.acked(), p.disk.Position()
	p.run(&done, "restore", file, "--replace")
	restored := p.disk.Position()
	p.start()
	b.admit(l, p, l.codes(40, 60), 8)
	p.off()
	old := b.wants(l, 0, from)
	l.cuts(t, story{t.Name(), p.disk.Medium(), from, func(cut int) []cutWants {
		next := b.wants(l, restored, cut)
		next.Checkins, next.Kept, next.Used = append(next.Checkins, saved...), all, l.code(0)
		if cut < restored {
			return []cutWants{old, next}
		}
		return []cutWants{next}
	}}, 800)
}

// importing adds tickets to a store.
func (l *laboratory) importing(t *testing.T) {
	const more = 300
	p := l.power(t, l.base.Disk(disk.Config{}))
	from := p.disk.Position()
	var codes []string
	for i := range more {
		codes = append(codes, fmt.Sprintf("IM%03d-KQ7P-2MRT", i))
	}
	var rep struct{ Created int }
	if p.run(&rep, "import", "--kind", "ticket", "--event", fmt.Sprint(l.event), ticketFile(t, codes)); rep.Created != more {
		t.Errorf("%d tickets were made, want %d", rep.Created, more)
	}
	imported := p.disk.Position()
	p.off()
	l.cuts(t, story{t.Name(), p.disk.Medium(), from, func(cut int) []cutWants {
		w := newDoorbook().wants(l, 0, cut)
		if cut >= imported {
			w.Tickets, w.Fresh = cutTickets+more, codes[more-1]
		}
		return []cutWants{w}
	}}, 400)
}

// filling uses up the disk's room under check-ins: writes are refused, reads go on, and when there is room again a new start has all.
func (l *laboratory) filling(t *testing.T, shown int64) {
	p, b := l.power(t, l.base.Disk(disk.Config{})), newDoorbook()
	p.start()
	b.admit(l, p, l.codes(0, 10), 8)
	p.disk.SetRoom(64<<10, shown)
	refused := 0
	for range 200 { // the log has room for a few check-ins before it needs more of the disk
		p.ask(l, http.MethodPost, "/admin/v1/event/", fmt.Sprintf(`{"start_datetime":"2026-01-01T12:00:00Z","description":%q}`, strings.Repeat("long ", 4000)))
	}
	b.bring(l, p, l.codes(10, 200), 1, func(_ string, status int) bool {
		if status != http.StatusNoContent {
			refused++
			l.refuses(p, status)
		}
		return refused < 5
	})
	if refused < 5 {
		t.Errorf("%d check-ins were refused on a full disk", refused)
	}
	p.disk.SetRoom(-1, -1)
	p.stop()
	p.start()
	b.admit(l, p, l.codes(200, 210), 8)
	p.off()
	m := p.disk.Medium()
	l.cuts(t, story{t.Name(), m, m.Length(), func(cut int) []cutWants { return []cutWants{b.wants(l, 0, cut)} }}, 10)
}

// refuses wants a write refused because nothing can be written, and reads answered.
func (l *laboratory) refuses(p *powered, status int) {
	p.Helper()
	if status != http.StatusServiceUnavailable && status != http.StatusInsufficientStorage {
		p.Errorf("a check-in that cannot be written = %d", status)
	}
	if status, _ := p.ask(l, http.MethodGet, "/admin/v1/ticket/?limit=10", ""); status != http.StatusOK {
		p.Errorf("a read while nothing can be written = %d", status)
	}
}
