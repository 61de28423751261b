package kv

import "doorward/kv/engine"

// The engine's names that callers of the store use.
var (
	ErrStopped        = engine.ErrStopped
	ErrBusy           = engine.ErrBusy
	ErrDiskFull       = engine.ErrDiskFull
	ErrCorrupt        = engine.ErrCorrupt
	ErrInUse          = engine.ErrInUse
	ErrPanicked       = engine.ErrPanicked
	ErrReadOnly       = engine.ErrReadOnly
	DefaultDiskLimits = engine.DefaultRoomLimits

	Gently   = engine.Throttle
	Lock     = engine.Lock
	ReadOnly = engine.ReadOnly
)

// OwnPrefix begins the names of temporary files in a store's folder.
const OwnPrefix = engine.OwnPrefix

// The uses of the disk.
const (
	Imports  = engine.Imports
	Creates  = engine.Creates
	Checkins = engine.Checkins
)

type (
	// BadFile is engine.BadFile.
	BadFile = engine.BadFile
	// DiskFull is engine.DiskFull.
	DiskFull = engine.DiskFull
	// DiskLimits are engine.RoomLimits.
	DiskLimits = engine.RoomLimits
	// Use is engine.Use.
	Use = engine.Use
	// SyncWriter is engine.SyncWriter.
	SyncWriter = engine.SyncWriter
)

type bucket = engine.Bucket
