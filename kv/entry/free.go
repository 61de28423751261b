package entry

import "errors"

var ErrTooLarge = errors.New("the document is too large")
