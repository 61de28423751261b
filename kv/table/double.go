package table

// The facts and tickets of a store alone decide which holders are in and which check-ins are double entries, in the order (hlc,
// id). Two stores with the same facts and tickets return the same result, in whatever order they arrived (sync.md §3).
//
// A check-in counts unless an undo names it or its list or direction is unknown. One in that counts is a double entry if an
// earlier one of its code or of its ticket, on its list, counts too and none between them leads out, or if its ticket is cancelled now. Each double entry has a
// row among the admissions, by event and in order; the row's value says why. A new fact can make or unmake only its own row and
// that of the next check-in that counts after it, by code and by ticket: settle checks these again.
const ByDouble = 'd'
