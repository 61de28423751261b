package kv

import (
	"slices"

	"doorward/kv/disk"
	"doorward/kv/record"
)

// RoomBeside returns nil or a *DiskFull: has the disk of a folder's store room for so many bytes of what another than the store writes there,
// without taking it from what people make?
func RoomBeside(c Config, what string, bytes int64) error {
	return c.room().CheckFile(what, bytes)
}

// Room returns nil, or a *DiskFull where a use is refused for want of room on the disk.
func (s *tables) Room(u Use) error { return s.room.Check(u) }

// Shortages are the uses that are refused for want of room on the disk, one *DiskFull each.
func (s *tables) Shortages() []*DiskFull { return s.room.Shortages() }

// FreeBytes is the room on the disk that the store lies on; ok is false where the system does not say.
func (s *tables) FreeBytes() (free int64, ok bool) { return s.room.Free() }

// FileBytes is the size of the store's file.
func (s *tables) FileBytes() int64 { return disk.Size(Path(s.dir)) }

// useOf returns the use that the documents of one operation need disk room for. Facts count as check-ins, from any source: a laptop
// pushes its own facts, and it must learn of admissions elsewhere so that it does not admit again. Other documents of the
// operation count the same, because an operation cannot be taken in part.
func useOf(writes []DocWrite) Use {
	isFact := func(w DocWrite) bool {
		k, _, ok := record.ParseDocID(w.ID)
		return ok && k.Fact
	}
	switch {
	case slices.ContainsFunc(writes, isFact):
		return Checkins
	case len(writes) == 1:
		return Creates
	}
	return Imports
}
