package table

import "sync/atomic"

// Session is one start of a store, as far as it has told peers of it.
type Session struct {
	ID     string   // ULID
	Before []string // the sessions before, the latest first, back to the last that a peer has answered to; or else the epoch
	Met    atomic.Bool
}

var SessionKey = []byte("session") // in meta: n × the ULID of a session, the latest first, as in session.before
