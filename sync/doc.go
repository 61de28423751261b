// Package sync speaks the CouchDB replication protocol over the databases of kv, so that PouchDB pages, RxDB apps, CouchDB and our
// own nodes exchange documents with a store. It decides what an answer looks like, never who may see or change what: that is
// kv's to say, anew for each call. It never invents a change.
//
//	GET  /sync/                        who this is                      GET POST DELETE /sync/_session   a cookie for /sync
//	GET  /sync/_up  _all_dbs  _uuids
//	GET HEAD PUT DELETE POST /sync/{db}
//	GET POST  {db}/_changes            what has changed since           POST {db}/_revs_diff    what the server lacks
//	POST      {db}/_bulk_get           revisions of documents           POST {db}/_bulk_docs    revisions for it
//	GET POST  {db}/_all_docs           the live documents by id         {db}/_local/{id}        a key's own checkpoints
//	GET HEAD PUT DELETE {db}/{doc}     a document                       {db}/{doc}/{name}       an attachment
//	POST {db}/_ensure_full_commit  _compact     GET PUT {db}/_revs_limit
//	POST /sync/_replicate              copies between two ends          GET /sync/_active_tasks
//	GET POST  {db}/_feed               lines, between our own nodes (line.go draws them)
//
// A request passes: Host, sizes, CORS, request id and metrics (the face around this room) → route → key (Authorization, else the
// session's cookie) → the key's rate → kv. A handler returns an error, and errors.go alone knows its CouchDB body:
//
//	{"error":"not_found","reason":"missing"}
//
// # Sequences
//
// They leave as "<n>-<epoch>" and come back as that text, in quotes or not. kv tells where a cursor of another epoch goes on.
//
// # Traps
//
// What was learnt from real clients, and is kept here by tests: a long poll writes {"results":[ and flushes before it waits, and its
// heartbeats are newlines. With new_edits false a document that is not taken is "forbidden" and nothing else, whatever is wrong
// with it: PouchDB skips those and gives a whole replication up for any other error. An item of _bulk_get is never an error for
// what is not there in a database of records: PouchDB would throw its batch away, for ever. A page of changes is as long as its limit while there are more.
//
// # Free databases
//
// They are CouchDB's in what a client sees of documents: any hash of a revision (1-a), one malformed document of _bulk_docs refuses the
// whole request, and an item of _bulk_get that is not there is an error. In databases of records a revision has 32 hex digits,
// each document is refused alone, and what is out of scope is an empty list.
//
// # Replicating
//
// Replicate copies from a Source to a Target, in one way whatever they are: a database of this process (Here), one at a server
// (There), or a file. Three stages run side by side, and what is in memory is bounded:
//
//	feed: what has changed → fetch: what of it the target lacks, and its revisions → store: write, then note the place
//
// Both ends keep the place, under a name made of both; where they differ, the earlier one counts. What the target has is asked for
// each time and never remembered, so that any run may be cut off anywhere. Revisions that are refused are counted and named, and
// keep nobody waiting. What may pass is tried again after a pause that grows.
//
// # Long requests
//
// A body that comes in and an answer that goes out may take as long as they make progress: 30 seconds without any end them.
// Nothing is read under a transaction while a client takes its time, and an answer is never in memory as a whole.
package sync
