// Package throttle limits failed logins by address and key, limits the requests of keys that have a rate, and logs failed
// logins once a minute.
//
// Limits has one meter for each address, for each key at an address, and for each key with a rate: a fixed number of requests a minute. Fail
// counts a failed login, Ration a request; both return *Error with the time to wait when the minute's number is reached. A login that
// succeeds is never counted, so no one can lock a key out. The package remembers a bounded number of names, and nothing after a restart.
package throttle
