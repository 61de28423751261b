package handshake

import (
	"time"
)

// EnrolRequest is the body of POST /sync/_enrol: a code, and the hash of a secret that the laptop has drawn.
type EnrolRequest struct {
	Code   string `json:"code"`
	Node   string `json:"node"`
	Secret string `json:"secret_hash"`
	Realm  string `json:"realm"`
	Vacant bool   `json:"vacant"`          // the store has no records and may join another realm
	Proof  []byte `json:"proof,omitempty"` // proves that the laptop still has its earlier key

	Holds []string `json:"holds,omitempty"` // the databases of churches and events that the store has records of
}

// EnrolAnswer is the answer. No other answer holds the key that codes are hashed with.
type EnrolAnswer struct {
	ID      int64     `json:"id"`
	Name    string    `json:"name"`
	Key     string    `json:"key"`
	Realm   string    `json:"realm"`
	Node    string    `json:"node"`
	CodeKey string    `json:"code_key"`
	Ends    time.Time `json:"expires_at"`
}
