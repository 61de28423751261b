package line

import (
	"errors"
)

// What can be wrong with a document.
var (
	ErrRevision   = errors.New("not a revision")
	ErrStub       = errors.New("a stub of an attachment that is not there")
	errMember     = errors.New("a member that begins with an underscore")
	ErrNoRevision = errors.New("new_edits is false and no revision is given")
)

// ErrLength is an attachment of another length than its document says.
var ErrLength = errors.New("an attachment is not as long as its document says")
