// Package disk has what the store needs of a file system: locks, folders and their names made durable, the room that is left, and large files that
// are written beside commits without keeping these from the disk.
package disk
