// Package table stores one record at a time: its row, its revisions, its lookups, its rows in the logs and its place in the sorted
// lists. It also keeps what the store knows of itself: realm, node, epochs, clock. It does not decide what a key may see or change.
// The rooms above give it their rules when the store is opened (Rules).
//
// A Set is the open store. A View is one consistent state of it. A Tx is one operation inside the write transaction: it sees the
// committed state, the writes of the operations before it in the same commit, and its own writes. An operation that returns an error
// leaves no trace.
//
// # The file
//
// All integers are big-endian; uv is an unsigned varint. Each value ends with 4 bytes: CRC32C over the bucket's number, the key and
// the value. A value that fails it is reported and never served. A bucket's number is never used again (file.go).
//
//	bucket        key                                            value
//	meta          format, realm, node, epoch, code_key, state    uv, tables uv / text / text / text / 32 bytes / see tx.go
//	              free                                           sequence uv, largest id of a database or upload uv
//	              epochs                                         n × (ended epoch 26, its last sequence uv)
//	              marker                                         inode of the sidecar 8, 0 = not known; machine
//	              marker_times                                   when the sidecar was made 8, and written 8, 0 = not known
//	              restored                                       time 8, of the last restore
//	              session, sessions/<node>                       n × 26, the latest first; n × (session 26, predecessor 26, outlived 1)
//	              clock                                          each field of a standing, see set.go
//	              compacted                                      how many compactions the file has passed 8
//	              backups                                        lines of a moment, a blank and a quoted path, oldest first
//	              centre, upstream                               the centre's node, no row = this store is the root; an Upstream as JSON
//	              contact/<id of a laptop>                       its last Contact as JSON
//	              refusals/<id of a key>, leases/<id of a key>   of this month: since 8, kept uv, bytes uv, not kept uv
//	              handed_in/<id of a revoked key>                when its phone began to hand in its scans 8
//	              let_in/<id of a revoked key>                   of the guests whom its phone let in: as refusals
//	              door_closed/<event>/<door>                     when a supervisor closed the door 8
//	              released                                       since when free pages hold bytes of released records 8, kept 8
//	kind:<name>   id: 8 bytes, or 16 of a ULID                   header, body
//	log           sequence 8                                     kind 1, flags 1, id, generation uv, hash 16
//	scope_log     scope (sort 1, id uv), sequence 8              as in log
//	left          kind 1, id, scope that it has left             sequence 8 of its removed row in that scope's log
//	tree          kind 1, id                                     rev.Tree
//	opaque        scope, document of an unknown kind             sequence 8, deleted 1, rev.Tree
//	opaque_body   scope, document, 0, generation 8, hash 16      canonical JSON
//	erased        keyed hash of a record's id, or ULID 16        kind 1, done 8, kept 8
//	lease         given g 1, kind 1, from 8                      to 8, api key uv, 0 = forgotten; epoch
//	              taken t 1, kind 1, from 8                      to 8, next 8
//	              last taken l 1, kind 1                         to 8
//	twin          k 1, kind 1, keyed hash of a key 16, id 8      -
//	              i 1, kind 1, id 8, id merged into it 8         -
//	reads         minute 8, api key 8, kind 1                    records uv
//	mirror        kind 1, id                                     generation uv, hash 16 as the pull left it, hash of what was pulled 16
//	              0                                              a Mirror as JSON
//	body          kind 1, id, generation 8, hash 16              foreign 1, table version 1, length of shown uv, shown, hidden
//	lookup        kind 1, tag of the field 2, value, id          -
//	code          e(xact) or n(ormal) 1, code hash 16, event 8,  -
//	              ticket 8
//	admission     c 1, event 8, code hash 16, list, 0, hlc 8,    -
//	              check-in 16
//	              t 1, ticket 8, event 8, list, 0, hlc 8,        -
//	              check-in 16
//	              d 1, event 8, hlc 8, check-in 16               why it is a double entry; let_in: before a verdict
//	once          hash of the idempotency key 32                 expiry 8, body hash 32, id 16, revision, reply (none: released)
//	once_expiry   expiry 8, hash 32                              -
//	free          database's name                                db uv, created 8, live uv, deleted uv, sequence uv
//	              0, db uv: deleted, its rows are being deleted  -
//	free_doc      db uv, document                                log sequence 8, deleted 1, tree (rev.Tree)
//	free_body     db uv, document, 0, generation 8, hash h       n uv, n × attachment, canonical JSON
//	free_log      db uv, sequence 8                              document
//	free_local    db uv, api key uv, document; of a scope 0,     written uv, canonical JSON
//	              scope for db uv
//	free_blob     db uv, SHA-256 32                              upload uv, length uv, MD5 16, time 8
//	free_chunk    db uv, upload uv, number 8                     up to 64 KiB
//	free_ref      db uv, SHA-256 32, document, 0, generation 8,  -
//	              hash h
//	free_loose    db uv, time 8, upload 8                        SHA-256 32; - of an upload that is not finished
//
// A hash h is the 16 bytes of a revision's 32 hex digits, or, of a hash that is another text, 16 zero bytes and the text.
//
// A record's header and body:
//
//	format 1 (2) | table version 1 | flags 1 | scope (sort 1, id uv) ×2 | updated_at 8 | updated_by uv | log sequence uv |
//	generation uv | revision hash 16 | parent's hash 16, if the generation is not 1 | length of shown uv | shown members | hidden members
//
// Long stretches of defaults are cut out of the shown members (record/template.go).
//
// Flags of a header: deleted 1, branched 2 (the tree has further leaves), foreign 4 (another server has made the revision id). Flags
// of a row of a log: deleted 1, branched 2, removed 4.
//
// The log has one live row for each record. A change deletes the row of the change before it. The write transaction takes the
// sequences, so a reader with a cursor misses no change.
//
// The log of a scope has a row for each record in the scope, at the record's latest sequence. A record that leaves the scope keeps a
// removed row with the last revision that the scope saw, until the record comes back. Leaving is not a deletion.
//
// A record with one revision that was made here has no tree, because its header has the same facts. The record's row has the
// winner's body. Bucket body has the bodies of the last ten revisions and of all other leaves.
//
// The rows free_doc and opaque are one type, Document. All trees are trimmed by one rule, Trim. A record has no row of that type: its
// header has the sequence and the flag, and most records have one revision and need no tree.
//
// The rows twin are of duplicates: records that were made twice and merged (kv/merge).
//
// An attachment is: its name and its type, each after its length uv; revpos uv, length uv, MD5 16, SHA-256 32.
//
// Free databases hold documents without record rules. Each has a log with one live row for each document. All share one sequence, so a
// database that is deleted and made again begins after every cursor into the one before. A document keeps the bodies of its leaves and
// of its last revisions; after a compaction it keeps those of its leaves. A blob that no body names is loose, and is deleted after an hour.
//
// # Reading
//
// A reader copies what it needs out of a short View. Pages and counts come from sorted id lists in memory (lists.go). Each commit
// publishes its lists under its version, and a reader takes the lists of the version that its View shows.
//
// A search may ask an index where to look. The index follows the log and answers between two Views. It decides nothing: the second
// View checks the stored bodies and the key's scope for each record that the index named, and for each that changed since.
//
// # Writing
//
// Callers hand operations to the writer and wait. The writer takes the operations that wait, doors first, runs each on an overlay of
// its own, and commits them together. After the first error of a commit the store writes nothing more, because the state of the disk
// is not known. Free space is checked before each commit, so a full disk never fails one: imports are refused first, then other
// changes, and below a reserve every operation that would write.
package table
