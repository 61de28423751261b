// Package docs serves the store as named databases of documents, as CouchDB's replication protocol wants them: records by scope (group,
// church, event) and free documents, over one shape of revision tree.
//
// A Database is opened for a principal and shows and takes what this principal may see and write.
package docs
