package ledger

import "doorward/kv/record"

// A ticket is one thing to its writer and three records in the store, under one id: what doors need, what name search
// needs, and what only the church's office sees (design.md §2). This file takes it apart and puts it together.

var TicketParts = [3]*record.Kind{record.Ticket, record.HolderName, record.Holder}

// CodeHashSize is how much of the HMAC is kept.
const CodeHashSize = 16
