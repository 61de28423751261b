package handshake

import (
	"time"
)

// EnrolRequest is what a laptop brings to _enrol: its code and the hash of a secret that it has drawn.
type EnrolRequest struct {
	Code   string `json:"code"`
	Node   string `json:"node"`
	Secret string `json:"secret_hash"`
	Realm  string `json:"realm"`
	Vacant bool   `json:"vacant"`          // it has no records, and may take another realm over
	Proof  []byte `json:"proof,omitempty"` // that it has the key which it had before

	Holds []string `json:"holds,omitempty"` // the databases of churches and events of which it has something
}

// EnrolAnswer is what it is given. It is the one answer that holds the key which codes are hashed with.
type EnrolAnswer struct {
	ID      int64     `json:"id"`
	Name    string    `json:"name"`
	Key     string    `json:"key"`
	Realm   string    `json:"realm"`
	Node    string    `json:"node"`
	CodeKey string    `json:"code_key"`
	Ends    time.Time `json:"expires_at"`
}
