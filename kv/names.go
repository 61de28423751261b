package kv

import (
	"doorward/kv/disk"
	"doorward/kv/engine"
)

// The names of kv/disk and kv/engine that callers of the store use.
var (
	ErrStopped        = engine.ErrStopped
	ErrBusy           = engine.ErrBusy
	ErrDiskFull       = disk.ErrFull
	ErrCorrupt        = engine.ErrCorrupt
	ErrInUse          = disk.ErrInUse
	ErrPanicked       = engine.ErrPanicked
	ErrReadOnly       = engine.ErrReadOnly
	DefaultDiskLimits = disk.DefaultRoomLimits

	Gently   = disk.Throttle
	Lock     = disk.Lock
	ReadOnly = disk.ReadOnly

	MakeFolder     = disk.MakeFolder
	MakeWorkFolder = disk.MakeWorkFolder
	IsWorkFolder   = disk.IsWorkFolder
	Abandoned      = disk.Abandoned
)

// OwnPrefix begins the names of temporary files in a store's folder.
const OwnPrefix = disk.OwnPrefix

// The uses of the disk.
const (
	Imports  = disk.Imports
	Creates  = disk.Creates
	Checkins = disk.Checkins
)

type (
	// BadFile is engine.BadFile.
	BadFile = engine.BadFile
	// DiskFull is disk.Full.
	DiskFull = disk.Full
	// DiskLimits are disk.RoomLimits.
	DiskLimits = disk.RoomLimits
	// Use is disk.Use.
	Use = disk.Use
	// SyncWriter is disk.SyncWriter.
	SyncWriter = disk.SyncWriter
)

type bucket = engine.Bucket
