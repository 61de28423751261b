package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"doorward/cmd/doorward/folder"
	"doorward/kv/crash"
	"doorward/kv/kvtest/proof"
)

const (
	killStores         = 20 // each with so many
	killStoresOfSample = 2
	killsOfStore       = 15
	killDoors          = 6 // clients
	killTickets        = 6 // that one life of a server brings to the doors anew
	killBrought        = 24
	killsAtOnce        = 2
	killLife           = 60 * time.Millisecond
	killAtOrdinal      = 24
)

// killPoints are the points that check-ins pass.
var killPoints = []crash.Point{crash.BeforeLogRow, crash.BeforeRecord, crash.BeforeCommit, crash.AfterCommit, crash.AmongAnswers,
	crash.BeforeReply, crash.AfterReply}

// TestKillsKeepCheckInsLinearizable kills the real program, at named points and at any moment, while clients check tickets in and
// undo; whatever they were told, over all lives of a store, must be what one register a ticket would have said.
func TestKillsKeepCheckInsLinearizable(t *testing.T) {
	t.Parallel()
	proof.Unraced(t)
	seed, stores := proof.Seed(t), uint64(proof.Count(killStoresOfSample, killStores))
	path, total := builtWith(t, "crashpoints"), &killTotal{at: map[crash.Point]int{}}
	template := newKillTemplate(t, path)
	until := time.Now().Add(proof.Torture(t))
	var next atomic.Uint64
	var all sync.WaitGroup
	for range killsAtOnce {
		all.Go(func() {
			for n := next.Add(1); (n <= stores || time.Now().Before(until)) && !t.Failed(); n = next.Add(1) {
				k := template.copied(t, seed+n)
				k.live()
				total.add(k)
				_ = os.RemoveAll(k.dir) // the test's folder goes in the end
			}
		})
	}
	all.Wait()
	t.Logf("torture: kills=%d requests=%d cut=%d acknowledged_lost=%d double_admissions=%d", total.kills, total.requests, total.cut, total.lost, total.double)
	t.Logf("killed at %v", total.at)
	for _, p := range killPoints {
		if total.at[p] == 0 && proof.Full() { // few kills need not meet every point
			t.Errorf("no server died %s", p)
		}
	}
	if total.kills < int(stores)*killsOfStore || total.cut == 0 {
		t.Errorf("%d kills met %d requests under way, want %d kills", total.kills, total.cut, int(stores)*killsOfStore)
	}
}

// killTotal is what all stores have been through.
type killTotal struct {
	mu                                 sync.Mutex
	kills, requests, cut, lost, double int
	at                                 map[crash.Point]int
}

func (total *killTotal) add(k *killing) {
	total.mu.Lock()
	defer total.mu.Unlock()
	total.kills += k.kills
	total.requests += len(k.history.all)
	total.cut += k.history.cut
	total.lost += k.lost
	total.double += k.double
	for p, n := range k.at {
		total.at[p] += n
	}
}

// killing is one store and the servers that die over it.
type killing struct {
	*program
	key, secret string
	event       int64
	draw        *rand.Rand
	seed        uint64
	history     *killHistory
	server      *serving1
	life        int
	kills       int
	at          map[crash.Point]int // where servers died by themselves
	lost        int
	double      int
	made        bool // the database of uploads
}

// newKillTemplate is a store with an event and its tickets, to be copied.
func newKillTemplate(t *testing.T, path string) *killing {
	k := &killing{program: &program{t, path, filepath.Join(proof.Disk(t), "data")}}
	w := &crashWorld{program: k.program}
	var key struct{ Key, Secret string }
	k.run(&key, "keys", "add", "--name", "door", "--level", "denomination", "--allow", "*:*")
	w.key, w.secret = key.Key, key.Secret
	server := k.serve()
	w.fill(server.url)
	server.kill()
	<-server.exited
	if err := os.Remove(filepath.Join(k.dir, folder.Socket)); err != nil { // no file that can be copied
		t.Fatal(err)
	}
	k.key, k.secret, k.event = w.key, w.secret, w.event
	return k
}

// copied is a store of its own, drawn from a seed.
func (k *killing) copied(t *testing.T, seed uint64) *killing {
	own := *k
	own.program = &program{t, k.path, filepath.Join(filepath.Dir(k.dir), fmt.Sprintf("data-%d", seed))}
	if err := os.CopyFS(own.dir, os.DirFS(k.dir)); err != nil {
		t.Error(err)
	}
	own.seed, own.draw, own.at = seed, rand.New(rand.NewPCG(seed, 0)), maps.Clone(k.at)
	if own.at == nil {
		own.at = map[crash.Point]int{}
	}
	own.history = newKillHistory()
	return &own
}

// live has servers live and die, and looks at what is left.
func (k *killing) live() {
	for k.life = range killsOfStore {
		if !k.oneLife() || k.Failed() {
			break
		}
	}
	if !k.Failed() {
		k.account()
	}
	k.history.judge(k)
}

// oneLife is one server from its start to its end.
func (k *killing) oneLife() bool {
	var more []string
	point := crash.Point("")
	if k.draw.IntN(2) == 0 {
		point = killPoints[k.draw.IntN(len(killPoints))]
		more = append(more, fmt.Sprintf("%s=%s:%d", crash.Variable, point, 1+k.draw.IntN(killAtOrdinal)))
	}
	server, err := k.start(more...)
	if err != nil {
		silent, ok := err.(*silentError)
		if !ok || point == "" || silent.state.ExitCode() != -1 {
			k.Errorf("seed %d, life %d: %v", k.seed, k.life, err)
			return false
		}
		k.kills++
		k.at[point]++
		return true
	}
	k.server = server
	k.verify()
	if point == "" {
		defer time.AfterFunc(time.Duration(k.draw.Int64N(int64(killLife))), server.kill).Stop()
	}
	k.bring()
	select {
	case <-server.exited:
		if point != "" {
			k.at[point]++
		}
	default:
		server.kill()
		<-server.exited
	}
	k.kills++
	k.history.died()
	return true
}

// bring has every client bring codes to the doors until the server is gone or all is done.
func (k *killing) bring() {
	var all sync.WaitGroup
	for n := range killDoors {
		c := newKillClient(k, n)
		all.Go(func() {
			defer c.http.CloseIdleConnections()
			for range killBrought {
				if !c.step() {
					return
				}
			}
		})
	}
	all.Wait()
}
