package door

import "errors"

var ErrNoCheckin = errors.New("no such check-in, or it is undone already")
