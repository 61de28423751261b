// Package door decides check-ins: who is let in, when a ticket is used twice, how an admission is undone, and what the board of an event
// counts.
//
// A decision is a function of the transaction: the first admission of a ticket by (hybrid time, id) stands, and all later ones are
// listed as double entries. An answer is given after the commit that holds it.
package door
