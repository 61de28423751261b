// Package auth says who makes a request, and what the api key allows by itself. It is pure: it knows no store and no transaction.
//
// A Principal is an api key that has logged in, or the operator of this machine. A key has
//
//	a level         denomination > regional:1,2 > church:3 > event:7     how much of the congregation it sees
//	permissions     people:GET  checkin:*  admin:POST                    which methods it may use on which resources
//	a term          expires, revoked, requests a minute
//	a venue         if it is the key of a laptop: what the laptop was enrolled for
//
// A method of Principal answers what level and permissions say, as nil or as a *Forbidden that names what is missing. An empty list of
// permissions allows everything but the resources admin and sync. Which records a principal may read and write is decided in kv/access.
//
// The zero Principal may nothing. A key never makes a key that may more than itself, is good for longer or for more requests.
package auth
