package door

import (
	"unicode/utf8"

	"doorward/kv/record"
	"doorward/kv/table"
)

// refuse answers a refusal and, if it is due, writes it.
func refuse(o *table.Tx, a *attempt, f *fact, d Decision) (Decision, error) {
	if f.about != nil {
		if err := describe(o.View, &d, a.p, f.about); err != nil {
			return d, err
		}
	}
	if !o.Doors.Note(table.RefusalKey{Event: f.event, Door: f.door, Code: f.codeHash, Outcome: d.Outcome}, a.p.Key(), o.Now) {
		return d, nil
	}
	putFact(o, record.Scan, a.p, f, func(draft *record.Draft) {
		draft.Text("outcome", string(d.Outcome))
		draft.Int("length", int64(utf8.RuneCountInString(a.Code)))
	})
	return d, nil
}

// refuseUnknown refuses a reading that means no ticket of the event.
func refuseUnknown(o *table.Tx, a *attempt) (Decision, error) {
	other, err := elsewhere(o, a)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Outcome: UnknownCode}
	if other {
		d.Outcome = WrongEvent
	}
	f := &fact{event: a.Event, door: a.Door, at: a.moment(o.Now)}
	if len(a.exact) > 0 {
		f.codeHash = a.exact[0]
	}
	return refuse(o, a, f, d)
}
