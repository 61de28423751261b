// Package docs serves the store as named databases of documents, as CouchDB's replication protocol asks. A Database is opened for a
// principal; it shows what the principal may see and takes what the principal may write.
//
//	name                                   documents                               kept in
//	records                                all records (the mirror)                kind buckets, tree, body, log
//	reference, church-N, event-N-…         the records of one scope                the same, by scope_log
//	the same                               documents of kinds not known here       opaque, opaque_body, scope_log
//	any other                              free documents, with attachments        free_*
//
// All four are revision trees of kv/rev. A write grafts the revision, drops bodies that need not be kept, and moves the document to
// the end of its log. Feeds, their pages and the count of pending changes are one code (feed.go).
//
// It promises: a bad document in a write blocks no other; a revision that is known changes nothing; a reply about a record that the
// principal may not see is the same as for a record that does not exist; a refused document of a record is kept for staff; what a crash has
// left of a deleted free database goes after the next start.
//
//	Database      opens, judges the principal, runs one transaction       database.go
//	document      a document of any database: its tree, and a function     document.go
//	              that reads a revision's body
//	docStore      documents that are no records: free ones, and those of   store.go
//	              unknown kinds (table.Documents)
//	scopeDocs     the database of a scope: scopeAccess says what the       scopedocs.go
//	              principal sees, push is one revision that is written     push.go, refer.go
//	freeDatabase  a docStore with a name, counts, blobs and a quota         free.go, blob.go, quota.go
package docs
