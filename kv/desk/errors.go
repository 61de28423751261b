package desk

import "errors"

var ErrStale = errors.New("the record has changed since") // If-Match names another revision
