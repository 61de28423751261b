// Package keys keeps the api keys of a store, and the sessions by which a centre notices copies of a laptop.
//
// A Ring holds the working keys in memory: by public half, with the hash of the secret and the auth.Principal. So a login reads no file.
// The keys themselves are records (kind api_key). A commit that changes one reloads the ring, and the next request sees the change.
//
//	Login                    key, secret → Principal; every wrong pair takes the same time                login.go
//	Standing, StandingKey    the Principal as its key is now, for work that lasts longer than a request; StandingIn for an operation
//	RevokedNode, RevokedDoor what the laptop or the phone of a revoked key may still bring               login.go
//	AddKey, Keys, RevokeKey  make, list and end keys; a key never makes one that may more than itself    keys.go
//	KeyMark, AwaitKeys       tell a laptop that the keys which work there have changed                   login.go
//	KeyExpiry                when keys end                                                               keys.go
//	Session, SeenSession     the chain of a store's sessions, and where two copies of it part            session.go
//
// If the keys cannot be read, no key logs in. A single key that is damaged, or that a later version has made in a way that this one cannot
// read, is refused, and the others work. The package stores no secret, and slows no guesses: api and sync do that. Which records a
// principal reads and writes is decided in kv/access.
package keys
