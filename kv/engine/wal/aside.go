package wal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"doorward/kv/disk"
)

// RemoveEnded removes segments of logs that have ended (Log.End), and segments without records. Those with the end go last, so that a log
// of which some are removed is still known to have ended.
func RemoveEnded(dir string) error {
	all, err := list(dir)
	if err != nil || all == nil {
		return err
	}
	strays := strays(all, ID{})
	gone := slices.DeleteFunc(slices.Clone(all), func(s *segment) bool { return slices.Contains(strays, s) })
	if len(gone) == 0 && len(all) > 0 {
		return nil
	}
	return removeAll(dir, gone)
}

// SetAside moves the segments of all other logs that have not ended into another folder. It tells whether there were any.
func SetAside(dir string, but ID, to string) (moved bool, err error) {
	all, err := list(dir)
	if err != nil {
		return false, err
	}
	others := strays(all, but)
	if len(others) == 0 {
		return false, nil
	}
	if err := disk.MakeFolder(to); err != nil {
		return false, err
	}
	for _, s := range others {
		if err := os.Rename(s.path, filepath.Join(to, s.name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	return true, errors.Join(disk.SyncDir(to), disk.SyncDir(dir))
}

// strays are the segments of logs that have not ended, but for one log, and those that are damaged.
func strays(all []*segment, but ID) (found []*segment) {
	ended := map[ID]bool{but: true}
	for _, s := range all { // the last of a log's segments decides
		if s.used && s.id != but {
			ended[s.id] = s.ends()
		}
	}
	for _, s := range all {
		if s.used && !ended[s.id] || !s.used && !s.bare {
			found = append(found, s)
		}
	}
	return found
}

// ends tells whether a segment has the end of its log.
func (s *segment) ends() bool {
	r := &reading{id: s.id, each: func(Record) error { return nil }}
	r.tail.Position = Position{s.first - 1, s.chain}
	r.tail.Index = s.index - 1
	return r.segment(s, true) == nil && r.tail.Ended
}
