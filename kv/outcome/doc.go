// Package outcome names what a scan at a door can come to. The set is closed: facts, answers, counters and lists use these words alone.
//
//	a guest comes in                      admitted, already_admitted
//	a guest goes out                      left
//	a guest outside is to go out or to return   not_inside
//	the code means no ticket here         unknown_code, wrong_event
//	the ticket or the event is not good   cancelled, refunded, unpaid, blocked, not_yet_valid, no_longer_valid, event_closed
//	an admission is taken back            undone
package outcome
