package input

import (
	"errors"
	"fmt"

	"doorward/kv/merge"
)

// What can be wrong with a body.
var (
	ErrJSON     = errors.New("the body is not JSON as it is wanted")
	ErrShape    = fmt.Errorf("%w: of another shape", ErrJSON)
	ErrTooLarge = errors.New("the request is too large")
	ErrRatio    = errors.New("the request is compressed too much")
	ErrBroken   = errors.New("the request could not be read")
)

// The limits of a body. They hold for the decompressed body too, and it may be a hundred times as large as the compressed one.
const (
	MaxSize  = 64 << 20
	maxRatio = 100
	MaxValue = merge.MaxDoc + merge.MaxDoc/2 // of one value: white space and escapes do not count for a document
	ratioOff = MaxValue                      // up to here any ratio will do: a document may be one letter a million times
)
