package table

import "doorward/kv/auth"

// Standing returns a principal as its key is in a View, or in an operation after those before it in its group. It returns ErrBadLogin if the
// key is gone or expired, and ErrRevoked if it is revoked.
type Standing func(*View, auth.Principal) (auth.Principal, error)

// By is an operation of a principal that logged in before. If the key stands no longer it returns the error of s, and run is not called.
func (s Standing) By(p auth.Principal, run func(*Tx) error) func(*Tx) error {
	return func(o *Tx) error {
		if _, err := s(o.View, p); err != nil {
			return err
		}
		return run(o)
	}
}

// Rekeying reports whether a View, or an operation, may show api keys that the follower of the commits does not know yet: an operation before
// this one has changed one, or a commit that has is under way.
func (v *View) Rekeying() bool {
	return v.Group != nil && v.Group.rekeyed || v.Store.Commits.rekeying.Load()
}
