package input

import (
	"doorward/kv"
)

// The limits of a body. They hold for the decompressed body too, and it may be a hundred times as large as the compressed one.
const (
	MaxSize  = 64 << 20
	maxRatio = 100
	MaxValue = kv.MaxDoc + kv.MaxDoc/2 // of one value: white space and escapes do not count for a document
	ratioOff = MaxValue                // up to here any ratio will do: a document may be one letter a million times
)
