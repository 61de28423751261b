// Package door decides check-ins: it admits a guest by a code, refuses, lets guests out, takes admissions back, and counts what happened
// at the doors of an event.
//
// A decision is a function of one transaction. It is answered after the commit that holds it, so an admission that was answered is never
// lost. Of any number of scans of one code, one is admitted. The order of the questions (contract.md §10):
//
//  1. the event        does the key see it, and may this store decide there
//  2. the nonce        was this very scan decided before          → the first answer again
//  3. the code         which ticket of the event has it           → unknown_code, wrong_event
//  4. the validity     event open, ticket good, inside its window → cancelled, unpaid, …, event_closed
//  5. the admissions   is the holder inside (kv/admission)        → already_admitted, with the first admission
//  6. nothing against  a check-in is written                      → admitted
//
// A fact is a record that is written once and never changed: a check-in, a refused scan, or an undo that names a check-in.
//
//	checkin  event ticket holding code_hash list direction door key node hlc at nonce flags
//	scan     the same, with the outcome and the length of the code that was read
//	undo     the same, with the check-in and the reason
//
// Stewards take back their own check-ins of the last minute, supervisors any. The board of an event follows the log and counts outcomes, types,
// doors and minutes for Status.
package door
