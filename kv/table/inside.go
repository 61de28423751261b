package table

// An event whose list_rule is reentry lets its guests out and in again. A guest is inside according to the last check-in of the ticket
// that counts, in or out, in the order (hlc, id): the facts alone say so, as they say which check-ins are double entries. Where no
// check-in leads out, this is the first admission.

// Way is which way a door lets guests through.
type Way string

// The ways. The empty Way is In.
const (
	In      Way = "in"      // guests that are not inside
	Out     Way = "out"     // guests that are inside
	Reentry Way = "reentry" // in, but for guests alone that were inside before
)
