// Package dial sends HTTP requests to peers.
//
// A client dials only addresses within its Reach, follows no redirects, and gives up on a peer that sends nothing for a minute. Each answer that is not a
// success is an error of this package:
//
//	request → Link.Do → *Refusal   the server says no: status, CouchDB's word, when to come back
//	                    ErrCut     no connection, or it broke off: the same may be tried again after Pause
//	                    *ProxyError   a proxy has made no connection
//	                    ErrNoCentre, ErrRedirect, ErrNotDialed   another server than the one that was meant
//
// Between our own nodes these headers are added (link.go):
//
//	→ Doorward-Feed: 1        the client knows lines
//	← Doorward-Feed: 1        the database gives and takes lines
//	← Doorward-Node, -Realm, -Epoch, -Code-Key
package dial
