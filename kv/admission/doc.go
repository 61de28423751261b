// Package admission decides which check-ins of a ticket count: which one admitted its holder, which are double entries, and whether
// the holder is inside.
//
// The facts and the tickets of a store decide alone, in the order (hybrid time, id). So two stores with the same facts and tickets say
// the same, in whatever order the facts arrived (sync.md §3):
//
//   - A check-in counts unless an undo of its own event names it, or its list or its direction is unknown to this version. A check-in out
//     with a hybrid time of all ones does not count: nothing comes after it.
//   - A check-in in has a verdict if a phone let the guest in and this program would have refused. It counts, is a double entry with the
//     verdict as the reason, and leaves the holder inside. It has no ticket if no ticket has its code. It does not count if this
//     version does not know the verdict, or if it is to be reviewed: staff accept it with a further check-in.
//   - A check-in in that counts admits, if no earlier one of its code or its ticket, on its list, has left the holder inside.
//   - Otherwise it is a double entry. So is a check-in in of a ticket that is cancelled now. Double entries are listed for staff and stay.
//   - A check-in out that counts leaves the holder outside. The next check-in in admits again.
//
// Rows of the admission bucket lead to check-ins in that order. A check-in has one row by its code and one by its ticket: two tickets
// of one code admit once. The event is in each row: a laptop of another event cannot use a ticket up.
//
//	by code, in     c event(8) code hash(32) list 0  hlc(8) id(16)  →
//	by code, out    o event(8) code hash(32) list 0  hlc(8) id(16)  →
//	by ticket, in   t ticket(8) event(8) list 0      hlc(8) id(16)  →
//	by ticket, out  u ticket(8) event(8) list 0      hlc(8) id(16)  →
//	double entry    d event(8)                       hlc(8) id(16)  →  already_admitted, cancelled or the verdict
//
// A new fact makes or unmakes only its own double entry and that of the next check-in that counts after it, by code and by ticket.
// Settle checks these again in the transaction that writes the fact, and Forget in the one that takes a fact out of the file.
package admission
