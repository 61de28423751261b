package table

import "doorward/kv/disk"

// Room returns nil, or a *DiskFull where a use is refused for want of room on the disk.
func (s *Set) Room(u disk.Use) error { return s.DiskRoom.Check(u) }

// Shortages are the uses that are refused for want of room on the disk, one *DiskFull each.
func (s *Set) Shortages() []*disk.Full { return s.DiskRoom.Shortages() }

// FreeBytes is the room on the disk that the store lies on; ok is false where the system does not say.
func (s *Set) FreeBytes() (free int64, ok bool) { return s.DiskRoom.Free() }

// FileBytes is the size of the store's file.
func (s *Set) FileBytes() int64 { return disk.Size(Path(s.Folder)) }
