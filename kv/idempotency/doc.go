// Package idempotency keeps the answers of requests with an Idempotency-Key, so that a request that is sent again does nothing twice
// (contract.md §11).
//
// An answer is kept in the transaction of its request, for 72 hours. Its two rows:
//
//	once         request (hash of api key, method, path and key)  →  expiry 8, hash of the body 32, record 16, revision, reply
//	once_expiry  expiry 8, request                                →  nothing
//
// A reply is emptied when the record that it shows is erased, or leaves the store. Its client is then shown the record as it is.
package idempotency
