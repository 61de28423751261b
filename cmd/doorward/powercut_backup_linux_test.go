package main

import (
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"doorward/kv/kvtest/disk"
)

// backingUp backs a served store up into its own folder, under a name of those that are kept there. Once the command is done, the
// power may go: the backup is whole.
func (l *laboratory) backingUp(t *testing.T) {
	p, b := l.power(t, l.base.Disk(disk.Config{})), newDoorbook()
	p.start()
	b.admit(l, p, l.codes(0, 20), 8)
	saved, from := b.acked(), p.disk.Position()
	var done any
	p.run(&done, "backup", filepath.Join(p.dir, "doorward-monday.db"))
	written := p.disk.Position()
	b.admit(l, p, l.codes(20, 40), 8)
	p.off()
	l.cuts(t, story{t.Name(), p.disk.Medium(), from, func(cut int) []cutWants {
		w := b.wants(l, 0, cut)
		if cut >= written {
			w.Kept = saved
		}
		return []cutWants{w}
	}}, 300)
}

// restoringUnsynced restores where the folder cannot be synced, and cuts the power: whichever store has the name, the one before is
// there, in its place or kept beside.
func (l *laboratory) restoringUnsynced(t *testing.T) {
	var broken atomic.Bool
	p, b := l.power(t, l.base.Disk(disk.Config{Sync: func(path string) error {
		if broken.Load() && path == "data" {
			return syscall.EIO
		}
		return nil
	}})), newDoorbook()
	p.start()
	b.admit(l, p, l.codes(0, 20), 8)
	file := filepath.Join(t.TempDir(), "backup.db")
	var done any
	p.run(&done, "backup", file)
	saved := b.acked()
	b.admit(l, p, l.codes(20, 40), 8)
	p.stop()
	broken.Store(true)
	if out, err := exec.Command(p.path, "restore", file, "--replace", "--data", p.dir).CombinedOutput(); err == nil {
		t.Errorf("a restore into a folder that cannot be synced says %s", out)
	}
	p.off()
	m := p.disk.Medium()
	l.cuts(t, story{t.Name(), m, m.Length(), func(cut int) []cutWants {
		old, next := b.wants(l, 0, cut), b.wants(l, 0, cut)
		next.Checkins, next.Kept, next.Used = saved, b.acked(), l.code(0)
		return []cutWants{old, next}
	}}, 60)
}
