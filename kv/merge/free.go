package merge

import "errors"

var ErrDocument = errors.New("not a document") // its id, its body or its path of revisions

var ErrRevision = errors.New("not a revision of a record") // its hash is always 32 hex digits
