// Package desk serves the records of the congregation to a principal: create, read, change, delete, list and search, one record or many
// rows, each with the answer of an Idempotency-Key.
//
// A method of Desk checks the principal, runs one transaction and answers. It returns table.ErrNotFound for a record outside the
// principal's scope, and *auth.Forbidden for what the principal may not do.
package desk
