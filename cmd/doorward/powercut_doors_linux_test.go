package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// asked is a check-in that was asked for.
type asked struct {
	code         string
	id, at       string // of the check-in
	begun, acked int    // positions of the disk; acked < 0: it was not answered 204
}

// doorbook is what the clients at the doors of a server were answered.
type doorbook struct {
	mu      sync.Mutex
	changed sync.Cond
	all     []*asked
	clients int // at work
	waiting int // of them, for an answer
}

func newDoorbook() *doorbook {
	b := &doorbook{}
	b.changed.L = &b.mu
	return b
}

// count changes how many clients there are and how many of them wait.
func (b *doorbook) count(clients, waiting int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clients, b.waiting = b.clients+clients, b.waiting+waiting
	b.changed.Broadcast()
}

// allWait returns when every client that is at work waits for an answer.
func (b *doorbook) allWait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.waiting < b.clients {
		b.changed.Wait()
	}
}

// checkIn asks to admit a code, and answers the status.
func (b *doorbook) checkIn(l *laboratory, p *powered, code string) int {
	a := &asked{code: code, begun: p.disk.Position(), acked: -1}
	b.mu.Lock()
	b.all = append(b.all, a)
	b.mu.Unlock()
	b.count(0, 1)
	defer b.count(0, -1)
	status, head := p.ask(l, http.MethodPost, fmt.Sprintf("/v1/event/%d/checkin/", l.event), fmt.Sprintf(`{"code":%q}`, code))
	if status != http.StatusNoContent {
		return status
	}
	at := p.disk.Position()
	b.mu.Lock()
	defer b.mu.Unlock()
	a.acked, a.id, a.at = at, head.Get("X-Checkin-Id"), head.Get("X-Checkin-At")
	return status
}

// wants is what a store must hold when the power goes at a moment, of check-ins that were asked for since another one. Of codes, one
// that was used by then and one that never was are tried.
func (b *doorbook) wants(l *laboratory, since, cut int) cutWants {
	w := cutWants{Key: l.key, Secret: l.secret, Tickets: cutTickets, Event: l.event, Fresh: l.code(cutTickets - 1)}
	for _, a := range b.all {
		switch {
		case a.begun < since:
		case a.acked >= 0 && a.acked <= cut:
			w.Checkins, w.Used = append(w.Checkins, a.id), a.code
		case a.begun <= cut:
			w.Open++
		}
	}
	return w
}

// acked are the ids of all check-ins that were answered.
func (b *doorbook) acked() (ids []string) {
	for _, a := range b.all {
		if a.acked >= 0 {
			ids = append(ids, a.id)
		}
	}
	return ids
}

// admit has some clients bring codes to the door, each its share in order; each must be admitted.
func (b *doorbook) admit(l *laboratory, p *powered, codes []string, clients int) {
	b.bring(l, p, codes, clients, func(code string, status int) bool {
		if status != http.StatusNoContent {
			p.Errorf("check-in of %s = %d", code, status)
		}
		return status == http.StatusNoContent
	})
	if p.Failed() {
		p.FailNow()
	}
}

// bring has some clients bring codes to the door until one's answer is none to go on after.
func (b *doorbook) bring(l *laboratory, p *powered, codes []string, clients int, goOn func(code string, status int) bool) {
	b.count(clients, 0)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			defer b.count(-1, 0)
			for i := c; i < len(codes); i += clients {
				if !goOn(codes[i], b.checkIn(l, p, codes[i])) {
					return
				}
			}
		})
	}
	all.Wait()
}

func (l *laboratory) code(i int) string { return fmt.Sprintf("PC%03d-KQ7P-2MRT", i) }

func (l *laboratory) codes(from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, l.code(i))
	}
	return all
}

// ticketFile writes a list of tickets that import reads.
func ticketFile(t *testing.T, codes []string) string {
	path := filepath.Join(t.TempDir(), "tickets.csv")
	if err := os.WriteFile(path, []byte("code,holder_name\n"+strings.Join(codes, ",Ana Souza\n")+",Ana Souza\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
