package kv

import (
	"doorward/kv/docs"
	"doorward/kv/merge"
)

// The two ways to a canonical document.
var (
	IsCanonical   = merge.IsCanonical
	MakeCanonical = docs.MakeCanonical
)
