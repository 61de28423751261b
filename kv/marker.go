package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"doorward/kv/record"
)

// markerName is the sidecar file by which a copied folder is told from the one that it was copied from: a copy's has another
// inode.
const markerName = "doorward.mark"

const markerText = "Doorward tells by this file whether its folder is a copy. Leave it where it is.\n"

var markerKey = []byte("marker") // in meta: inode of the sidecar 8, 0 = it tells nothing; machine

// marker says where a store lies.
type marker struct {
	inode   uint64 // of the sidecar; 0 where inodes do not last
	machine string
}

func (m marker) encode() []byte {
	return append(binary.BigEndian.AppendUint64(nil, m.inode), m.machine...)
}

// elsewhere tells whether a store that was marked so lies somewhere else now.
func (m marker) elsewhere(row []byte) (bool, error) {
	c := cutter{rest: row}
	inode := c.uint64()
	if c.short {
		return false, fmt.Errorf("%w: meta row marker", ErrCorrupt)
	}
	moved := inode != 0 && m.inode != 0 && inode != m.inode
	return moved || string(c.rest) != m.machine, nil
}

// mark finds out where a folder lies, and makes its sidecar where there is none.
func mark(c Config) (marker, error) {
	path := filepath.Join(c.Dir, markerName)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(os.WriteFile(path, []byte(markerText), 0o600), syncDir(c.Dir))
		if err == nil {
			info, err = os.Stat(path)
		}
	}
	if err != nil {
		return marker{}, err
	}
	m := marker{machine: c.Machine}
	if m.inode = inodeOf(path, info); m.inode == 0 {
		c.Logger.Warn("the folder's file system numbers its files anew: a copy of the folder is only noticed on another machine")
	}
	return m, nil
}

// arrive begins a new epoch where the file has come here from elsewhere: out of a backup, or with a copy of the folder.
func (s *Store) arrive(c Config) error {
	if c.Restored {
		return s.do(false, (*op).restore)
	}
	if c.Aside {
		return nil
	}
	m, err := mark(c)
	if err != nil {
		s.log.Warn("the folder cannot be marked: a copy of it will not be noticed", slog.Any("cause", err))
		return nil // a full disk is no reason not to open
	}
	before := s.Epoch()
	err = s.do(false, func(o *op) error {
		row, err := o.get(metaBucket, markerKey)
		if err != nil {
			return err
		}
		if row != nil {
			elsewhere, err := m.elsewhere(row)
			if err != nil {
				return err
			}
			if !elsewhere {
				return nil
			}
			if err := o.beginElsewhere(); err != nil {
				return err
			}
		}
		o.put(metaBucket, markerKey, m.encode())
		return nil
	})
	if err == nil && s.Epoch() != before {
		s.log.Warn("this folder is a copy of another: a new epoch begins", slog.String("before", before), slog.String("epoch", s.Epoch()))
	}
	return err
}

// In a restored store ids move on by so much, as may have been given out since the backup: 100,000 or a hundred leases.
const (
	restoreGap    = 100_000
	restoreLeases = 100
)

// restore makes of what a backup held a store that goes on; Replace knows more of what was given out.
func (o *op) restore() error {
	for _, k := range record.Kinds() {
		if k.ULID {
			continue
		}
		o.passOver(&o.state, k, max(restoreGap, restoreLeases*LeaseSize(k)), !o.store.isLeaf())
	}
	o.beginRecovery()
	o.delete(metaBucket, markerKey) // it will be marked where it is put
	return o.beginElsewhere()
}

// beginElsewhere begins a new epoch, on a machine of whose clock nothing is known.
func (o *op) beginElsewhere() error {
	o.delete(metaBucket, clockKey)
	o.after = append(o.after, func() { o.store.wall.standing.Store(&standing{}) })
	return o.beginEpoch()
}
