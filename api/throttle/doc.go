// Package throttle limits failed logins by address and key, limits the requests of keys that have a rate, and logs failed
// logins once a minute. It remembers a bounded number of names, and nothing after a restart.
package throttle
