package ledger

// A ticket is one thing to its writer and several records in the store: the ticket, its code in clear under the same id, and its present
// holding (design.md §2). This file takes it apart and puts it together.

// CodeHashSize is how much of the HMAC is kept.
const CodeHashSize = 16
