package outcome

// Outcome is what a scan, or an undo, comes to. It is written in facts and answered to clients as it stands here.
type Outcome string

// The outcomes.
const (
	Admitted        Outcome = "admitted"
	AlreadyAdmitted Outcome = "already_admitted"
	UnknownCode     Outcome = "unknown_code"
	WrongEvent      Outcome = "wrong_event" // the code is that of another event which the key sees
	Cancelled       Outcome = "cancelled"
	Refunded        Outcome = "refunded"
	Unpaid          Outcome = "unpaid"
	Blocked         Outcome = "blocked"
	NotYetValid     Outcome = "not_yet_valid"
	NoLongerValid   Outcome = "no_longer_valid"
	EventClosed     Outcome = "event_closed" // the event is not active, or not enabled
	Undone          Outcome = "undone"
	Left            Outcome = "left"       // the guest was inside and is let out
	NotInside       Outcome = "not_inside" // the guest was to be let out, or in again, and was never in
)

// Refuses reports whether an outcome keeps a guest outside at the first scan already. A check-in can have it as its verdict.
func (o Outcome) Refuses() bool {
	switch o {
	case UnknownCode, WrongEvent, Cancelled, Refunded, Unpaid, Blocked, NotYetValid, NoLongerValid, EventClosed:
		return true
	}
	return false
}

// All returns every outcome, in the order in which they are documented.
func All() []Outcome {
	return []Outcome{Admitted, AlreadyAdmitted, UnknownCode, WrongEvent, Cancelled, Refunded, Unpaid, Blocked,
		NotYetValid, NoLongerValid, EventClosed, Undone, Left, NotInside}
}
