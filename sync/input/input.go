package input

import (
	"doorward/kv"
)

// The limits of a request's body. What a compressed one holds counts, and it may hold a hundred times its own size.
const (
	MaxSize  = 64 << 20
	maxRatio = 100
	MaxValue = kv.MaxDoc + kv.MaxDoc/2 // of one value: white space and escapes may still go
	ratioOff = MaxValue                // what may be held whatever the ratio: one document, be it a single letter a million times
)
