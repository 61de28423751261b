package venue_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/backup"
	"doorward/kv/table"
	"doorward/sync"
)

// node is one computer of a simulated congregation: a real store in a folder, and at the centre its server.
type node struct {
	testing.TB
	name    string
	config  kv.Config
	store   *kv.Store
	server  *sync.Server // the centre's
	own     *memory
	offset  time.Duration     // of its clock
	persons bool              // it has the people of church 1
	crashed map[string][]byte // the disk at the moment of a crash; nil: none
	copies  []spare
	made    int  // of them
	muted   bool // it, or what it is an image of, makes no records before it was told of the other
}

// backup is a copy of a store, and what it knew.
type spare struct {
	path string
	own  *memory
}

// newNode makes a computer whose clock is wrong by an offset.
func newNode(t testing.TB, dir, name string, offset time.Duration) *node {
	n := &node{TB: t, name: name, offset: offset, own: newMemory()}
	n.config = kv.Config{Dir: filepath.Join(dir, name), Clock: n.now}
	n.open()
	t.Cleanup(n.close)
	return n
}

func (n *node) now() time.Time { return time.Now().Add(n.offset) }

func (n *node) open() {
	n.Helper()
	s, err := kv.Open(n.config)
	if err != nil {
		n.Fatalf("%s: %v", n.name, err)
	}
	n.store = s
	if n.server != nil {
		n.serve()
	}
}

// serve answers the protocol.
func (n *node) serve() {
	n.Helper()
	server, err := sync.New(sync.Config{Store: n.store, Clock: n.now, Version: "sim", OverAfter: 72 * time.Hour})
	if err != nil {
		n.Fatal(err)
	}
	n.server = server
}

func (n *node) close() {
	n.Helper()
	if n.server != nil {
		n.server.Close()
	}
	if err := n.store.Close(); err != nil {
		n.Fatalf("%s: %v", n.name, err)
	}
}

// disk is what the store's file and its log hold at this moment, by their names.
func (n *node) disk() map[string][]byte {
	n.Helper()
	return diskOf(n, n.config.Dir)
}

// diskOf reads a store's file and its log.
func diskOf(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	log, err := filepath.Glob(filepath.Join(dir, "log", "*"))
	if err != nil {
		t.Fatal(err)
	}
	disk := map[string][]byte{}
	for _, path := range append(log, table.Path(dir)) {
		name, err := filepath.Rel(dir, path)
		if err == nil {
			disk[name], err = os.ReadFile(path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return disk
}

// putDisk writes a store's file and its log into a folder, in the place of those that are there.
func putDisk(t testing.TB, dir string, disk map[string][]byte) {
	t.Helper()
	err := errors.Join(os.RemoveAll(filepath.Join(dir, "log")), os.MkdirAll(filepath.Join(dir, "log"), 0o700))
	for name, bytes := range disk {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), bytes, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// kill ends the node without anything more, and starts it from what was on its disk.
func (n *node) kill(disk map[string][]byte) {
	n.Helper()
	n.close()
	putDisk(n, n.config.Dir, disk)
	n.crashed = nil
	n.open()
}

// keep makes a backup.
func (n *node) keep() {
	n.Helper()
	n.made++
	path := filepath.Join(n.config.Dir, "backup"+strconv.Itoa(n.made))
	if _, err := n.store.Files.CopyTo(auth.Operator(), path); err != nil {
		n.Fatal(err)
	}
	n.copies = append(n.copies, spare{path, n.own.clone()})
}

// restore puts a backup in the place of the store, as the command does.
func (n *node) restore(b spare) {
	n.Helper()
	aside, err := os.MkdirTemp(n.config.Dir, "restore-")
	if err == nil {
		err = copyBytes(b.path, table.Path(aside))
	}
	if err != nil {
		n.Fatal(err)
	}
	s, err := kv.Open(kv.Config{Dir: aside, Clock: n.now, Restored: true})
	if err != nil {
		n.Fatal(err)
	}
	if err := s.Close(); err != nil {
		n.Fatal(err)
	}
	n.close()
	if _, err := backup.ReplaceStore(n.config.Dir, table.Path(aside), n.now(), slog.New(slog.DiscardHandler)); err != nil {
		n.Fatal(err)
	}
	n.own = b.own.clone()
	n.open()
}

func copyBytes(from, to string) error {
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	return err
}

// clone starts a copy of the folder. An image of the whole disk cannot be told from the first by where it lies.
func (n *node) clone(name string, image bool) *node {
	n.Helper()
	c := &node{TB: n.TB, name: name, offset: n.offset, own: n.own.clone(), persons: n.persons}
	c.config = kv.Config{Dir: filepath.Join(filepath.Dir(n.config.Dir), name), Clock: c.now, Aside: image}
	if err := os.Mkdir(c.config.Dir, 0o700); err != nil {
		n.Fatal(err)
	}
	putDisk(n, c.config.Dir, n.disk())
	if image {
		c.muted, n.muted = true, true
	}
	c.open()
	c.Cleanup(c.close)
	return c
}
