package main

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"doorward/kv/kvtest/disk"
)

// isStores tells the store's file and those of its log on a disk of the laboratory.
func isStores(path string) bool {
	return path == "data/doorward.db" || strings.HasPrefix(path, "data/log/")
}

// commits is how many check-ins, one after the other, each have every sync fail.
const commits = 60

// failingSync has one sync of the store's files fail, of those that are counted, or it and all after it.
type failingSync struct {
	mu      sync.Mutex
	counts  bool
	nth     int // 0 = none
	forever bool
	seen    int
	failed  int
}

func (f *failingSync) sync(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.counts || !isStores(path) {
		return nil
	}
	f.seen++
	if f.seen != f.nth && (!f.forever || f.nth == 0 || f.seen < f.nth) {
		return nil
	}
	f.failed++
	return syscall.EIO
}

// count begins to count, and answers how many syncs and failures there were.
func (f *failingSync) count(from bool) (seen, failed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts = from
	return f.seen, f.failed
}

// failing has every sync of a run of commits fail, once and for ever, each in a run of its own.
func (l *laboratory) failing(t *testing.T, part, parts int) {
	syncs := l.syncsOf(t)
	if syncs < commits {
		t.Fatalf("%d syncs of %d commits", syncs, commits)
	}
	for nth := 1 + part; nth <= syncs && !t.Failed(); nth += parts * l.stride {
		for _, forever := range []bool{false, true} {
			l.failAt(t, &failingSync{nth: nth, forever: forever})
		}
	}
}

// syncsOf counts the syncs of the run.
func (l *laboratory) syncsOf(t *testing.T) int {
	f := &failingSync{}
	p, b := l.power(t, l.base.Disk(disk.Config{Sync: f.sync})), newDoorbook()
	p.start()
	f.count(true)
	b.admit(l, p, l.codes(0, commits), 1)
	seen, _ := f.count(false)
	p.off()
	return seen
}

// failAt wants writing to stop at a failed sync, for good, and everything that was answered to be there after a cut.
func (l *laboratory) failAt(t *testing.T, f *failingSync) {
	p, b := l.power(t, l.base.Disk(disk.Config{Sync: f.sync})), newDoorbook()
	p.start()
	f.count(true)
	refused := 0
	b.bring(l, p, l.codes(0, commits+20), 1, func(code string, status int) bool {
		switch {
		case status == http.StatusServiceUnavailable:
			refused++
		case status != http.StatusNoContent || refused > 0:
			t.Errorf("sync %d fails, for ever %v: check-in of %s = %d after %d refused", f.nth, f.forever, code, status, refused)
		}
		return refused < 3 && !t.Failed()
	})
	l.refuses(p, http.StatusServiceUnavailable)
	if status, _ := p.ask(l, http.MethodGet, "/readyz", ""); status == http.StatusOK {
		t.Errorf("sync %d has failed, and the server says that it is ready", f.nth)
	}
	_, failed := f.count(false)
	if failed == 0 {
		t.Errorf("sync %d never came", f.nth)
	}
	l.syncs.Add(int64(failed))
	p.off()
	m := p.disk.Medium()
	l.cuts(t, story{fmt.Sprintf("%s: sync %d, for ever %v", t.Name(), f.nth, f.forever), m, m.Length(), func(cut int) []cutWants {
		return []cutWants{b.wants(l, 0, cut)}
	}}, 3)
}

// stopping has every sync of a stop fail, in which the log is folded into the file and ends: what was answered is there.
func (l *laboratory) stopping(t *testing.T) {
	for nth := 1; !t.Failed(); nth++ {
		f := &failingSync{nth: nth, forever: nth%2 == 0}
		p, b := l.power(t, l.base.Disk(disk.Config{Sync: f.sync})), newDoorbook()
		p.start()
		b.admit(l, p, l.codes(0, 20), 4)
		f.count(true)
		p.end()
		_, failed := f.count(false)
		p.off()
		l.syncs.Add(int64(failed))
		m := p.disk.Medium()
		l.cuts(t, story{fmt.Sprintf("%s: sync %d", t.Name(), nth), m, m.Length(), func(cut int) []cutWants { return []cutWants{b.wants(l, 0, cut)} }}, 10)
		if failed == 0 {
			if nth < 5 {
				t.Errorf("a stop has %d syncs", nth-1)
			}
			return
		}
	}
}

// notStarting has the syncs of a start and of its end fail: the program says so and ends.
func (l *laboratory) notStarting(t *testing.T) {
	for nth := 1; ; nth++ {
		f := &failingSync{nth: nth, counts: true}
		p := l.power(t, l.base.Disk(disk.Config{Sync: f.sync}))
		cmd := exec.Command(p.path, "keys", "list", "--data", p.dir)
		diesWithTest(cmd)
		out, err := cmd.CombinedOutput()
		seen, failed := f.count(false)
		p.off()
		if failed == 0 {
			if seen > 0 && nth == 1 {
				t.Error("no sync of a start failed")
			}
			return
		}
		l.syncs.Add(int64(failed))
		if said := strings.TrimSpace(string(out)); cmd.ProcessState.ExitCode() != 1 || !strings.HasSuffix(said, "input/output error") {
			t.Errorf("sync %d of a start fails: %v\n%s", nth, err, out)
		}
	}
}
