// Package transit holds document revisions on their way between two stores, and reads and writes them as JSON documents in CouchDB's form:
//
//	{"_id":…,"_rev":"2-…","_deleted":true,"_revisions":{"start":2,"ids":["…","…"]},"_attachments":{"name":{"stub":true,…}},"field":…}
//
// Parsed is a document as it was read, with what is wrong with it. Revision is one that can be stored. What is wrong with one document is never an error
// of the documents beside it.
package transit
