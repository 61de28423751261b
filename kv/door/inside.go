package door

import (
	"doorward/kv/admission"
	"doorward/kv/fault"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// reentry is the list_rule of an event that lets its guests out and in again.
const reentry = "reentry"

func isReentry(event *table.Stored) bool {
	return value.Unquote(event.Body.Member("list_rule")) == reentry
}

// keepsOut is the check-in by which a guest has come in and does not come in once more, of the ticket and on the list of c; nil for none. A
// way out leaves the guest outside where doors lead out. Where they only lead in, it is of another clock or of the event's past, and lets in
// no guest twice.
func keepsOut(v *table.View, event *table.Stored, c *admission.Checkin) (*table.Stored, error) {
	if isReentry(event) {
		return admission.First(v, c)
	}
	return admission.Came(v, c)
}

// errNoWay is the fault of a door that leads out, or in again, at an event that only leads in.
var errNoWay = fault.ByField{"direction": {"The event's list_rule is not reentry: its doors lead in."}}

// wayAllowed returns errNoWay if the event does not let guests out and the way is not in.
func wayAllowed(event *table.Stored, way Way) error {
	if way == "" || way == In || isReentry(event) {
		return nil
	}
	return errNoWay
}

// letOut lets a guest out that is inside. The state of the ticket and of the event does not matter: no guest is kept inside.
func letOut(o *table.Tx, a *attempt, f *fact) (Decision, error) {
	first, err := admission.First(o.View, &f.Checkin)
	if err != nil {
		return Decision{}, err
	}
	if first == nil {
		return refuse(o, a, f, Decision{Outcome: outcome.NotInside})
	}
	f.Out = true
	if err := f.Fewer(o.View, o.Store.Rules.Limits.Checkins, "the code has gone in and out too often"); err != nil {
		return Decision{}, err
	}
	if err := enter(o, a, f, nil); err != nil {
		return Decision{}, err
	}
	if err := admission.Settle(o, f.ID); err != nil {
		return Decision{}, err
	}
	mine, err := o.Load(record.Checkin, f.ID)
	if err != nil || mine == nil {
		return Decision{}, table.OrNotFound(err)
	}
	d := leaving(o.View, mine, first, a.Door)
	return d, describe(o.View, &d, a.p, f.about)
}

// leaving is the decision about a check-in out: its id, and when and where the guest came in, if that is known.
func leaving(v *table.View, mine, first *table.Stored, here string) Decision {
	if first == nil {
		first = mine
	}
	d := decisionOf(v, outcome.Left, first, here)
	d.CheckinID = record.Checkin.FormatID(mine.ID)
	return d
}

// readmit admits a guest at a door for re-entry. It refuses a guest that was never inside.
func readmit(o *table.Tx, a *attempt, f *fact) (Decision, error) {
	came, err := admission.Came(o.View, &f.Checkin)
	if err != nil {
		return Decision{}, err
	}
	if came == nil {
		return refuse(o, a, f, Decision{Outcome: outcome.NotInside})
	}
	return admit(o, a, f)
}
