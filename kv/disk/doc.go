// Package disk has what a store needs of a file system, and what differs between systems.
//
//	Lock                  one process uses a file; another gets ErrInUse                       system_*.go
//	OpenFile, Replace     a file gets another one's name while it is open                      system_*.go
//	MakeFolder, SyncDir   folders, and names in them, that no power cut takes away             folder.go
//	MakeWorkFolder        a folder for temporary files, locked while its process works         folder.go
//	Unnamed               a temporary file without a name                                      system_*.go
//	Remove, Leave         a large file loses its name, and commits do not wait for it          remove.go, system_*.go
//	Room                  how much of the disk is free, and what is refused when it is little  room.go, system_*.go
//	Throttle, Turn        large files that a commit's sync need not wait for                   throttle.go, system_*.go
//
// The package knows no store and no record.
package disk
