package kv

// The two ways to a canonical document.
var (
	IsCanonical   = isCanonical
	MakeCanonical = makeCanonical
)
