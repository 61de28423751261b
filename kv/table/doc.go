// Package table stores one record at a time: its row, its revisions, its lookups, its place in the logs and in the sorted lists, and
// what the store knows of itself (realm, node, epoch, clock). It decides nothing about who may see or change what: the rooms above
// hand it those rules when the store is opened (Rules).
//
// A View is one consistent state of the store. A Tx is one operation inside the write transaction: it sees the committed state, what
// the operations before it in the same commit have written, and its own writes. An operation that returns an error leaves no trace.
//
// # The file
//
// All integers are big-endian; uv is an unsigned varint. Behind every value stand 4 bytes: CRC32C over the bucket's number,
// the key and the value. What fails it is reported and never served.
//
//	bucket        key                                            value
//	meta          format, realm, node, epoch, code_key, state    uv / text / text / text / 32 bytes / see clock.go
//	              free                                           sequence uv, largest id of a database or upload uv
//	              epochs                                         n × (ended epoch 26, its last sequence uv)
//	              marker                                         inode of the sidecar 8, 0 = it tells nothing; machine
//	              marker_times                                   when the sidecar was made 8, and written 8, 0 = as above
//	              restored                                       time 8, of the last restore
//	              session, sessions/<node>                       n × 26, the latest first; n × (session 26, predecessor 26, outlived 1)
//	              clock                                          what was measured of it, see clock.go
//	              compacted                                      when the file was last begun to be written anew 8
//	              centre, upstream                               the centre's node, none = this store is the root; an Upstream as JSON
//	              contact/<id of a laptop>                       its last Contact as JSON
//	              refusals/<id of a key>, leases/<id of a key>   of this month: since 8, kept uv, bytes uv, not kept uv
//	              released                                       since when free pages hold what it has released 8
//	kind:<name>   id: 8 bytes, or 16 of a ULID                   header, body
//	log           sequence 8                                     kind 1, flags 1, id, generation uv, hash 16
//	scope_log     scope (sort 1, id uv), sequence 8              as in log
//	left          kind 1, id, scope that it has left             sequence 8 of the row there that says so
//	tree          kind 1, id                                     rev.Tree
//	opaque        scope, document of an unknown kind             sequence 8, flags 1, rev.Tree
//	opaque_body   scope, document, 0, generation 8, hash 16      canonical JSON
//	erased        keyed hash of an erased record's id 16         kind 1, done 8, of a ticket n × (kind 1, generation 8, hash 16), see erased.go
//	lease         given g 1, kind 1, from 8                      to 8, api key uv, 0 = forgotten; epoch
//	              taken t 1, kind 1, from 8                      to 8, next 8
//	              last taken l 1, kind 1                         to 8
//	twin          k 1, kind 1, keyed hash of a key 16, id 8      -
//	              i 1, kind 1, id 8, id merged into it 8         -
//	reads         minute 8, api key 8, kind 1                    records uv
//	former        ticket 8, person 8                             since when no more 8, none: it is not known
//	mirror        kind 1, id                                     generation uv, hash 16 as the pull left it, hash of what was pulled 16
//	              0                                              a Mirror as JSON
//	body          kind 1, id, generation 8, hash 16              foreign 1, table version 1, length of shown uv, shown, hidden
//	lookup        kind 1, field name, 0, value, id               -
//	code          e(xact) or n(ormal) 1, code hash 16, event 8,  -
//	              ticket 8
//	admission     c 1, event 8, code hash 16, list, 0, hlc 8,    -
//	              check-in 16
//	              t 1, ticket 8, event 8, list, 0, hlc 8,        -
//	              check-in 16
//	              d 1, event 8, hlc 8, check-in 16               why it is a double entry
//	once          hash of the idempotency key 32                 expiry 8, body hash 32, id 16, revision, reply (none: released)
//	once_expiry   expiry 8, hash 32                              -
//	free          database's name                                db uv, created 8, live uv, deleted uv, sequence uv
//	              0, db uv: deleted, its rows are on their way   -
//	free_doc      db uv, document                                log sequence 8, deleted 1, tree (rev.Tree)
//	free_body     db uv, document, 0, generation 8, hash h       n uv, n × attachment, canonical JSON
//	free_log      db uv, sequence 8                              document
//	free_local    db uv, api key uv, document; of a scope 0,     written uv, canonical JSON
//	              scope for db uv
//	free_blob     db uv, SHA-256 32                              upload uv, length uv, MD5 16, time 8
//	free_chunk    db uv, upload uv, number 8                     up to 64 KiB
//	free_ref      db uv, SHA-256 32, document, 0, generation 8,  -
//	              hash h
//	free_loose    db uv, time 8, upload 8                        SHA-256 32, or - of an upload that goes on or was given up
//
// A hash h is the 16 bytes of a revision's 32 hex digits, or, of a hash that is another text, 16 zero bytes and the text.
//
// A record's header and body:
//
//	format 1 | table version 1 | flags 1 | scope (sort 1, id uv) ×2 | updated_at 8 | updated_by uv | log sequence uv |
//	generation uv | revision hash 16 | parent's hash 16 | length of shown uv | shown members | hidden members
//
// Flags, of a header: deleted 1, branched 2 (its tree has further leaves), foreign 4 (another server has made the revision in its
// own way); of a row of a log: deleted 1, branched 2, removed 4.
//
// The log has one live row per record: a change deletes the row of the one before. Sequences are the store's own, taken in
// the write transaction, so a reader with a cursor misses nothing.
//
// The log of a scope has a row for each of its records at the record's latest sequence. A record that leaves stays as a removed
// row with the last revision which the scope saw, until it comes back; leaving is no deletion.
//
// A record that has one revision, made here, has no tree: its header says it all. The winner's body is in the record's row; those
// of the last ten revisions and of all leaves are kept beside it.
//
// An attachment: name and type, each behind its length uv; revpos uv, length uv, MD5 16, SHA-256 32.
//
// Free databases hold documents without record rules. They have a log each, of one live row per document, and share a sequence
// of their own, so that one which is deleted and made again begins beyond every cursor into the one before. A document's bodies
// are those of its leaves and its last revisions, and after Compact those of its leaves. A blob that no body needs is loose; one that has been for an hour goes.
//
// # Reading
//
// A reader copies what it needs out of a short View. Pages and counts come from sorted id lists in memory (lists.go), which
// are published with each commit under its transaction's number, so that a reader takes those which its View shows.
//
// A search may ask a Finder, which follows the log (Await, Replay) and keeps an index of its own, where to look. It is asked
// between two Views and decides nothing: what it has named and what has changed since it looked is judged by the stored bodies
// and by what the key sees in the second View.
//
// # Writing
//
// Callers hand operations to the writer and wait. It drains what is waiting, doors first, runs each operation on an overlay of
// its own and commits them together. An operation that fails leaves no trace. The first error of a commit stops writing for
// good: nobody knows then what the disk holds. So that a full disk is none, room is looked at before each commit (disk.go): imports
// are refused first, then other changes, and below a reserve every operation that would write anything.
package table
