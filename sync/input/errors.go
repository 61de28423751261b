package input

import (
	"errors"
	"fmt"
)

// What can be wrong with a body.
var (
	ErrJSON     = errors.New("the body is not JSON as it is wanted")
	ErrShape    = fmt.Errorf("%w: of another shape", ErrJSON)
	ErrTooLarge = errors.New("the request is too large")
	ErrRatio    = errors.New("the request is compressed too much")
	ErrBroken   = errors.New("the request could not be read")
)
