// Package input reads JSON that comes over the network: bodies of requests, and answers of peers.
//
//	bytes → Limit (64 MiB) → Gzip or Inflated (64 MiB, ratio ≤ 100) → Values (each ≤ a document) → EachMember, EachItem (Items ≤ 100,000)
//	bytes → Limit (4 GiB) → Gzip → Spool, Scanner → Batch → Document → Values …
//
// Nothing is read into memory as a whole; the second way is that of _bulk_docs. A body that is too large, too deep or compressed too much is an error of this package, never a panic and never
// an allocation of that size.
package input
