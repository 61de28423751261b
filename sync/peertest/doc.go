// Package peertest holds what the tests of several rooms of sync share.
//
//	site.go        Site: a server over a real store on a real port, its requests and answers; Leaf and Bring write revisions; Shape compares answers;
//	               a captive portal that answers in a server's place, and transports that break off; the fields that a history names
//	replicate.go   a site's databases as peers; Fill, Content and WantSame write and compare them; CopyAll, AwaitDoc
//	bench.go       the table of the benchmarks
package peertest
