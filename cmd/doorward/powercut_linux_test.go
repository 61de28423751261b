package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"doorward/kv/kvtest/disk"
	"doorward/kv/kvtest/proof"
)

const (
	// cutTickets is how many the laboratory's event has. The last one is never brought to a door.
	cutTickets = 240
	// cutImages is how many images make proof wants at least. A sample is one in cutStride of them.
	cutImages = 6000
	cutStride = 20
)

// laboratory cuts the power of the real program's disk.
type laboratory struct {
	*checkers
	path        string // of the program
	mu          sync.Mutex
	draw        *rand.Rand
	stride      int // only one in so many images and failed syncs
	key, secret string
	event       int64
	base        *disk.Image // a congregation with an event and its cutTickets
	first       story       // how that came to be
}

func newLaboratory(t *testing.T, seed uint64) *laboratory {
	l := &laboratory{path: compiled(t), draw: rand.New(rand.NewPCG(seed, 0)), stride: 1}
	if !proof.Full() {
		l.stride = cutStride
	}
	l.checkers = startCheckers(t, 2)
	p := l.power(t, disk.New(disk.Config{}))
	var key struct{ Key, Secret string }
	p.run(&key, "keys", "add", "--name", "laboratory", "--level", "denomination", "--allow", "*:*")
	keyed := p.disk.Position()
	l.key, l.secret = key.Key, key.Secret
	p.start()
	status, _, text := p.fetch(l, "POST", "/admin/v1/event/", `{"start_datetime":"2026-01-01T12:00:00Z"}`)
	var event struct{ ID int64 }
	if err := json.Unmarshal([]byte(text), &event); err != nil || status != 201 {
		t.Fatalf("event = %d %s", status, text)
	}
	l.event = event.ID
	var rep struct{ Created int }
	if p.run(&rep, "import", "--kind", "ticket", "--event", fmt.Sprint(l.event), ticketFile(t, l.codes(0, cutTickets))); rep.Created != cutTickets {
		t.Fatalf("%d tickets were made, want %d", rep.Created, cutTickets)
	}
	filled := p.disk.Position()
	p.off()
	m := p.disk.Medium()
	m.Advance(m.Length())
	l.base = m.Draw(disk.Everything())
	l.first = story{name: "creation", medium: p.disk.Medium(), wants: func(cut int) []cutWants {
		w := cutWants{}
		if cut >= keyed {
			w.Key, w.Secret = l.key, l.secret
		}
		if cut >= filled {
			w.Tickets, w.Event, w.Fresh = cutTickets, l.event, l.code(0)
		}
		return []cutWants{w}
	}}
	return l
}

func (l *laboratory) seed() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.draw.Uint64()
}

// plays are what the laboratory lets happen. Syncs fail in two parts, beside each other.
func (l *laboratory) plays() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"creation":            func(t *testing.T) { l.cuts(t, l.first, 1000) },
		"check-ins":           l.serving,
		"slow syncs":          l.slowly,
		"short writes":        l.inPieces,
		"growth":              l.growing,
		"compaction":          l.compacting,
		"restore":             l.restoring,
		"unsynced restore":    l.restoringUnsynced,
		"backup":              l.backingUp,
		"import":              l.importing,
		"full disk":           func(t *testing.T) { l.filling(t, 1<<20) },
		"full without a sign": func(t *testing.T) { l.filling(t, -1) },
		"failed syncs, odd":   func(t *testing.T) { l.failing(t, 0, 2) },
		"failed syncs, even":  func(t *testing.T) { l.failing(t, 1, 2) },
		"failed start":        l.notStarting,
		"failed stop":         l.stopping,
	}
}

// TestPowerCut has the real program work on a disk whose power is cut at any moment, whose syncs fail or take long and whose room
// ends, and opens what it leaves: every check-in that was answered 204 is there, no ticket is admitted twice, verify finds nothing.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	proof.Unraced(t)
	seed := proof.Seed(t)
	end := time.Now().Add(proof.Torture(t))
	l := newLaboratory(t, seed)
	for round := 1; round == 1 || time.Now().Before(end) && !t.Failed(); round++ {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			for name, play := range l.plays() {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					play(t)
				})
			}
		})
	}
	fmt.Printf("torture: images=%d failed_syncs=%d acknowledged_lost=%d double_admissions=%d\n",
		l.images.Load(), l.syncs.Load(), l.lost.Load(), l.double.Load())
	all := !strings.Contains(flag.Lookup("test.run").Value.String(), "/")
	wanted := int64(cutImages / l.stride)
	if n := l.images.Load(); all && n < wanted && !t.Failed() {
		t.Errorf("%d images, want at least %d", n, wanted)
	}
}
