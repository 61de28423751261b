// Package replicate copies documents between two peers. A peer is a database of this process (Local), one at a server (Remote), or a file (File). Run
// copies from any peer to any other.
//
// It promises that a run may be cut off anywhere, at either side, and that the next run goes on at the checkpoint: nothing is lost, and nothing is copied
// twice but what came after it. The target is asked what it lacks; its answer is never remembered from one batch to the next. A revision that the target
// refuses is named, and blocks no other.
//
//	           Feed                    Missing, Read                 Write
//	source ──────────────→ batches ──────────────────→ loads ──────────────→ target      three stages, each at most one step ahead
//	                                                      │
//	                          both checkpoints ←──────────┘ once all before a place is written
//
// Both peers keep the checkpoint, under a name made of the two (ReplicationID). If they differ, the earlier one counts.
//
// Remote has two transports. Over HTTP it speaks CouchDB's replication protocol, which any server knows:
//
//	GET  /sync/{db}/_changes   POST _revs_diff   POST _bulk_get (or GET {doc}?open_revs)   POST _bulk_docs   PUT {doc} multipart/related
//	GET, PUT /sync/{db}/_local/{id}               the checkpoint
//
// With our own nodes it uses lines (package line), one stream each way: GET and POST /sync/{db}/_feed. A file holds the same lines.
//
// Records stay within their congregation: Run returns ErrRealm if they would go to a store of another realm.
package replicate
