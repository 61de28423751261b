// Package entry reads, checks, writes and shows one record for a principal. Every room that changes records on behalf of a key goes
// through it: what the key sees (Sees, Find), what a patch may say (CheckPatch), which id is free (Vacant), how a record is added and
// amended, and the reply that shows it.
//
// All functions work on a transaction of the table package that the caller has opened.
package entry
