// Package peertest holds what the tests of several rooms of sync share.
//
//	site.go        Site: a server over a real store on a real port, its requests and answers; Leaf and Bring write revisions; Shape compares answers
//	replicate.go   a site's databases as peers; Fill, Content and WantSame write and compare them; CopyAll, AwaitDoc
//	portal.go      a captive portal that answers in a server's place, and transports that break off
//	bench.go       the table of the benchmarks
//	history.go     the fields that a history names
//	race_*.go      whether the race detector is on
package peertest
