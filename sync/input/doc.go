// Package input reads JSON that comes over the network: bodies of requests, and answers of peers.
//
//	bytes → Limit (64 MiB) → Gzip or Inflated (64 MiB, ratio ≤ 100) → Values (each ≤ a document, LimitDepth) → EachMember, EachItem
//
// Nothing is read into memory as a whole. A body that is too large, too deep or compressed too much is an error of this package, never a panic and never
// an allocation of that size.
package input
