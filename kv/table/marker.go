package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/record"
)

// markerName is the sidecar file that tells a copied folder from its original. It is written once. In a copy it is another file, or
// was written at another time.
const markerName = "doorward.mark"

const markerText = "Doorward tells by this file whether its folder is a copy. Leave it where it is.\n"

// Rows of meta. 0 = not known.
var (
	markerKey      = []byte("marker")       // inode of the sidecar 8; machine
	markerTimesKey = []byte("marker_times") // when the sidecar was made 8, and written 8: nanoseconds
)

// marker identifies the place where a store lies.
type marker struct {
	inode         uint64 // of the sidecar
	born, written int64  // times of the sidecar: a file system uses an inode's number again after its file is deleted
	machine       string
}

// isBlind tells whether no lasting property of the sidecar is known.
func (m *marker) isBlind() bool { return m.inode == 0 && m.born == 0 }

// differs tells whether m and was are different places.
func (m *marker) differs(was *marker) bool {
	other := func(was, is uint64) bool { return was != 0 && is != 0 && was != is }
	return m.machine != was.machine || other(was.inode, m.inode) ||
		other(uint64(was.born), uint64(m.born)) || other(uint64(was.written), uint64(m.written))
}

// marked reads the store's marker; nil = it has none.
func marked(o *Tx) (*marker, error) {
	row, err := o.Get(MetaBucket, markerKey)
	if err != nil || row == nil {
		return nil, err
	}
	times, err := o.Get(MetaBucket, markerTimesKey)
	if err != nil {
		return nil, err
	}
	c, t := Cutter{Rest: row}, Cutter{Rest: times}
	m := &marker{inode: c.Uint64(), machine: string(c.Rest)}
	if times != nil { // a store that was marked before had none
		m.born, m.written = int64(t.Uint64()), int64(t.Uint64())
	}
	if c.Short || t.Short {
		return nil, fmt.Errorf("%w: meta row marker", engine.ErrCorrupt)
	}
	return m, nil
}

func putMarker(o *Tx, m *marker) {
	o.Put(MetaBucket, markerKey, append(binary.BigEndian.AppendUint64(nil, m.inode), m.machine...))
	o.Put(MetaBucket, markerTimesKey, binary.BigEndian.AppendUint64(SeqKey(uint64(m.born)), uint64(m.written)))
}

// mark reads the marker of a folder. It makes the sidecar if the folder has none.
func mark(c Config) (*marker, error) {
	path := filepath.Join(c.Dir, markerName)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		// The store's own name is on the disk first: the sidecar alone would say that the store is gone.
		err = errors.Join(disk.SyncDir(c.Dir), os.WriteFile(path, []byte(markerText), 0o600), disk.SyncDir(c.Dir))
		if err == nil {
			info, err = os.Stat(path)
		}
	}
	if err != nil {
		return nil, err
	}
	m := &marker{machine: c.Machine}
	m.inode, m.born = originOf(path, info)
	if m.isBlind() {
		c.Logger.Warn("the folder's file system numbers its files anew: a copy of the folder is only noticed on another machine")
	} else {
		m.written = info.ModTime().UnixNano()
	}
	return m, nil
}

// Arrive begins a new epoch if the file came from a backup, or with a copy of the folder.
func (s *Set) Arrive(c Config) error {
	if c.Restored {
		return s.Do(restore)
	}
	if c.Aside || c.ReadOnly {
		return nil
	}
	m, err := mark(c)
	if err != nil {
		s.Log.Warn("the folder cannot be marked: a copy of it will not be noticed", slog.Any("cause", err))
		return nil // a full disk is no reason not to open
	}
	before := s.Epochs.Present()
	err = s.Do(func(o *Tx) error {
		was, err := marked(o)
		if errors.Is(err, engine.ErrCorrupt) { // it may be a copy, so it is taken for one: it gives no id and no sequence again
			s.Damage.Note(err)
			putMarker(o, m)
			return beginElsewhere(o)
		}
		if err != nil || was != nil && *was == *m {
			return err
		}
		putMarker(o, m)
		if was == nil || !m.differs(was) {
			return nil
		}
		return beginElsewhere(o)
	})
	if err == nil && s.Epochs.Present() != before {
		s.Log.Warn("this folder is a copy of another, or may be: a new epoch begins", slog.String("before", before), slog.String("epoch", s.Epochs.Present()))
	}
	return err
}

// The marks of a restored store move on by 100,000 ids or a hundred leases, because the ids may have been given out since the backup.
const (
	restoreGap    = 100_000
	restoreLeases = 100
)

// restore makes a backup's file the store: marks move on, a recovery and a new epoch begin.
func restore(o *Tx) error {
	for _, k := range record.Kinds() {
		if k.ULID {
			continue
		}
		PassOver(o.Tx, &o.State, k, max(restoreGap, restoreLeases*LeaseSize(k)), !o.Store.Identity.IsLeaf())
	}
	beginRecovery(o)
	o.Delete(MetaBucket, markerKey) // it will be marked where it is put
	o.Delete(MetaBucket, markerTimesKey)
	return beginElsewhere(o)
}

// beginElsewhere begins a new epoch on a machine with an unknown clock.
func beginElsewhere(o *Tx) error {
	o.Delete(MetaBucket, clockKey)
	o.After(o.Store.Clock.forget)
	return beginEpoch(o)
}
