package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"doorward/kv/backup"
	"doorward/kv/kvtest/proof"
	"doorward/kv/table"
)

const (
	busyDoorCount = 64
	backupEvery   = 2 * time.Second        // or one after another, where one takes longer
	longestPause  = 500 * time.Millisecond // how long doors may stand still while a backup is made
	settling      = 2 * time.Second        // until connections are open, and the disk has deleted what it is to
	slowdown      = 2.0                    // how many times as long a check-in may take beside backups, p99
)

// busyTrial is how doors are kept busy, in turns with and without backups beside them.
type busyTrial struct {
	people int
	every  time.Duration // each door takes a ticket so often; 0 = without a pause
	slice  time.Duration // of each turn
	turns  int           // at least
	most   float64       // times p99 without
	long   time.Duration // at least
}

// TestBackupsWhileDoorsAreBusy: 64 doors check in and undo without a pause, in turns with and without backups beside them. Each backup
// is sound, holds all that was answered before it was begun, and is exactly what the store held at one moment.
//
// What doors wait for backups is told from what they wait for this machine by comparing neighbours: p99 of each slice of time with
// backups against the one before it, and of these ratios the median, so that a burst of other work in one slice decides nothing.
func TestBackupsWhileDoorsAreBusy(t *testing.T) {
	proof.Unraced(t)
	proof.Only(t, "a machine of its own")
	trial := busyTrial{people: 2_000, slice: time.Second, turns: 3, most: 2.5 * slowdown} // in a second, one burst of other work on the disk is most of p99
	if trial.long = proof.Torture(t); trial.long > 0 {
		trial.people, trial.slice, trial.most = 100_000, 10*time.Second, slowdown
	}
	trial.run(t)
}

// TestABackupIsMadeEveryTwoSeconds: 64 doors take two tickets a second each, as fast as people walk by, and for a minute a backup is
// begun every two seconds. Each is made by the time the next is due.
func TestABackupIsMadeEveryTwoSeconds(t *testing.T) {
	if proof.Torture(t) == 0 {
		t.Skip("a minute of a machine's own")
	}
	for i, m := range (busyTrial{people: 5_000, every: time.Second / 2, slice: 6 * time.Second, turns: 10, most: slowdown}).run(t) {
		if m.took > backupEvery {
			t.Errorf("backup %d took %v, want %v at most", i+1, m.took, backupEvery)
		}
	}
}

func (trial busyTrial) run(t *testing.T) (made []madeBackup) {
	b := newBusyDoors(t, trial.people, int(trial.long/time.Second)*3+20)
	b.every = trial.every
	s := b.serve()
	b.url = s.url
	b.awaitIndex()
	b.gate.Lock()
	var all sync.WaitGroup
	for door := range busyDoorCount {
		all.Go(func() { b.stand(door) })
	}
	var paces comparison
	for until := time.Now().Add(trial.long); !t.Failed() && (len(paces.ratios) < trial.turns || time.Now().Before(until)); {
		unix.Sync() // what is left of the backups before
		b.slice(min(trial.slice, settling), nil)
		without := b.slice(trial.slice, nil)
		var fresh []madeBackup
		with := b.slice(trial.slice, func() { fresh = append(fresh, b.backup()) })
		paces.add(t, without, with)
		for i := range fresh {
			b.look(&fresh[i])
		}
		made = append(made, fresh...)
	}
	b.closed.Store(true)
	b.gate.Unlock()
	all.Wait()
	s.kill()
	<-s.exited
	final := b.factsIn(b.dir)
	for _, m := range made {
		m.isPrefix(t, final)
	}
	if left, err := filepath.Glob(filepath.Join(b.dir, ".doorward-backup-*")); err != nil || len(left) > 0 {
		t.Errorf("backups leave %v, %v", left, err)
	}
	paces.judge(t, trial.most)
	t.Logf("torture: backups=%d requests=%d (%v)", len(made), b.asked.Load(), &paces)
	return made
}

// slice opens the doors for so long, and answers their pace. Backups are made one after another meanwhile, the last of them to its end.
func (b *busyDoors) slice(d time.Duration, backup func()) pace {
	tick, end := time.NewTicker(backupEvery), time.NewTimer(d)
	defer tick.Stop()
	b.gate.Unlock()
	until := time.Now().Add(d - backupEvery/2)
	for backup != nil && !b.Failed() {
		if backup(); time.Now().After(until) {
			break
		}
		<-tick.C
	}
	<-end.C
	b.gate.Lock()
	return b.pace.take()
}

// awaitIndex waits until the server has nothing else to do than doors.
func (b *busyDoors) awaitIndex() {
	for !b.Failed() {
		if strings.Contains(b.page("/metrics"), "\ndoorward_index_lag_changes 0\n") {
			return
		}
	}
}

// backup makes one.
func (b *busyDoors) backup() madeBackup {
	b.Helper()
	m := madeBackup{dir: b.TempDir(), before: len(b.acked())}
	begun := time.Now()
	var of backup.Manifest
	b.run(&of, "backup", table.Path(m.dir))
	m.seq, m.took = of.Seq, time.Since(begun)
	b.Logf("%d bytes in %v", of.Bytes, m.took)
	return m
}

// look looks into a backup and deletes it.
func (b *busyDoors) look(m *madeBackup) {
	b.Helper()
	facts := b.factsIn(m.dir)
	if err := os.RemoveAll(m.dir); err != nil {
		b.Error(err)
	}
	there := map[string]bool{}
	for _, c := range facts {
		there[c.Kind.FormatID(c.ID)] = true
	}
	if lost := missing(b.acked()[:m.before], there); lost > 0 {
		b.Errorf("a backup lacks %d of %d check-ins that were answered before it was begun", lost, m.before)
	}
	m.facts, m.sum = len(facts), sumOf(facts)
}
