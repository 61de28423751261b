// Package mango tests documents with a part of CouchDB's Mango selectors: equality, $eq $gt $gte $lt $lte $in $exists, $and, $or. Values compare in CouchDB's
// order: null, booleans, numbers, texts, lists, objects. An operator that is not one of these is ErrSelector, never ignored.
//
// New and Parse check a selector once and return a Selector; Matches tests one change of a feed by its winner. There is no index and no query: a feed
// reads every change and leaves out those that do not match.
package mango
