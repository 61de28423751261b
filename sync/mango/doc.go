// Package mango tests documents with a part of CouchDB's Mango selectors: equality, $eq $gt $gte $lt $lte $in $exists, $and, $or. Values compare in CouchDB's
// order: null, booleans, numbers, texts, lists, objects. An operator that is not one of these is ErrSelector, never ignored.
package mango
