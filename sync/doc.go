// Package sync answers the CouchDB replication protocol over HTTP, for PouchDB pages, RxDB apps, CouchDB and our own nodes. It decides what an answer looks
// like. kv decides, for each request, what the caller may read and write. It never invents a change.
//
//	sync            this package: routes, sessions, feeds, documents
//	sync/venue      a laptop's loop, its enrolment, its handshake
//	sync/replicate  copies between two peers
//	   sync/transit, sync/line: revisions as JSON documents and as lines · sync/dial: HTTP to a peer · sync/handshake: what a laptop
//	   and its centre say · sync/mango: selectors · sync/input: limits and JSON of what comes in
//
// The routes:
//
//	GET  /sync/                        the server                       GET POST DELETE /sync/_session   a cookie for /sync
//	GET  /sync/_up  _all_dbs  _uuids
//	GET HEAD PUT DELETE POST /sync/{db}
//	GET POST  {db}/_changes            what has changed since           POST {db}/_revs_diff    what the server lacks
//	POST      {db}/_bulk_get           revisions of documents           POST {db}/_bulk_docs    revisions for it
//	GET POST  {db}/_all_docs           the live documents by id         {db}/_local/{id}        a key's own checkpoints
//	GET HEAD PUT DELETE {db}/{doc}     a document                       {db}/{doc}/{name}       an attachment
//	POST {db}/_ensure_full_commit  _compact     GET PUT {db}/_revs_limit
//	POST /sync/_replicate              copies between two peers         GET /sync/_active_tasks
//	POST /sync/_enrol  GET POST _hello  POST _lease  _erased            between our own nodes (package handshake)
//	GET POST /sync/_stick                                               a laptop takes a file of its centre (stick.go)
//	GET POST  {db}/_feed               lines, between our own nodes (package line)
//
// A request passes: Host, sizes, CORS, request id and metrics (the face around this room) → route → key (Authorization, or the session's cookie) → the key's
// rate → kv. A handler is a function of the call. It returns an error, and only errors.go knows the answer to it:
//
//	{"error":"not_found","reason":"missing"}
//
// # Sequences
//
// A sequence leaves as "<n>-<epoch>" and comes back as that text, in quotes or not. kv says where a sequence of another epoch goes on.
//
// # Traps
//
// Real clients have taught these, and tests keep them. A long poll writes {"results":[ and flushes before it waits, and its heartbeats are newlines. With
// new_edits false a refused document is "forbidden", whatever is wrong with it: PouchDB skips those, and gives a whole replication up for any other error. An
// item of _bulk_get is never an error in a database of records: PouchDB would throw its batch away, without end. A page of changes is as long as its limit
// while there are more.
//
// # Free databases
//
// They are CouchDB's as a client sees them: a revision has any hash (1-a), one malformed document of _bulk_docs refuses the whole request, and a missing item
// of _bulk_get is an error. In databases of records a revision has 32 hex digits, each document is refused by itself, and what is out of scope is an empty
// list.
//
// # Long requests
//
// A body or an answer may take as long as it makes progress: 30 seconds without any end it. No transaction is open while a client takes its time, and an
// answer is never in memory as a whole.
package sync
