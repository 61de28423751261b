package disk

import "io/fs"

// deed is what was done.
type deed byte

const (
	made       deed = iota // a file, folder or socket, which has no name yet
	written                // data at an offset
	cutTo                  // a file's size was set
	named                  // names lead elsewhere now, all at once
	synced                 // a file or folder, with what was done to it before event Before
	syncFailed             // the same, in vain
)

// event is one thing that was done to a disk. Its fields are those of its deed.
type event struct {
	Do     deed
	Inode  int
	Mode   fs.FileMode
	At     int64 // offset, or size
	Data   []byte
	Names  []binding
	Before int
}

// binding is a name in a folder and the inode it leads to; 0 = none any more.
type binding struct {
	Folder int
	Name   string
	Inode  int
}
