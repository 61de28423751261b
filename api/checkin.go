package api

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/door"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/value"
)

// messages are what a door may read aloud. They hold no name and no code.
var messages = map[outcome.Outcome]string{
	outcome.Admitted:        "Admitted.",
	outcome.AlreadyAdmitted: "This ticket was already admitted.",
	outcome.UnknownCode:     "No ticket has this code.",
	outcome.WrongEvent:      "This ticket is for another event.",
	outcome.Cancelled:       "This ticket was cancelled.",
	outcome.Refunded:        "This ticket was refunded.",
	outcome.Unpaid:          "This ticket is not paid yet.",
	outcome.Blocked:         "This ticket is blocked.",
	outcome.NotYetValid:     "This ticket is not valid yet.",
	outcome.NoLongerValid:   "This ticket is no longer valid.",
	outcome.EventClosed:     "The event takes no check-ins.",
	outcome.Undone:          "The check-in was undone.",
	outcome.Left:            "Left.",
	outcome.NotInside:       "This ticket is not inside.",
}

// checkinForm is the body of a check-in.
var checkinForm = record.Form("checkin_form",
	record.Field{Name: "code", Type: record.Text{Min: 1, Max: 255}, Flags: record.Required},
)

// event reads the id of the event in the path.
func event(x *exchange) (record.ID, error) { return x.pathID(record.Event) }

// attempted reads an attempt at the event in the path and has the door decide it. read is the surface's own way to read the body.
func attempted(x *exchange, read func(*exchange) (door.Attempt, error)) (d door.Decision, err error) {
	id, err := event(x)
	if err != nil {
		return d, err
	}
	a, err := read(x)
	if err != nil {
		return d, unlessMissing(x, record.Event, id, err)
	}
	a.Event = id.Int()
	return x.store().Door.CheckIn(x.caller, a)
}

// checkIn answers POST /v1/event/{id}/checkin/.
func checkIn(x *exchange) error {
	d, err := attempted(x, readCheckIn)
	if err != nil {
		return err
	}
	markReplayed(x, d.Replayed)
	if d.Outcome != outcome.Admitted {
		return &notAdmitted{d}
	}
	h := x.Header()
	h["X-Checkin-Id"] = []string{d.CheckinID}
	h["X-Checkin-At"] = []string{stamp(d.AdmittedAt)}
	return x.done()
}

// readCheckIn reads the body and headers of a check-in.
func readCheckIn(x *exchange) (a door.Attempt, err error) {
	form, _, err := readForm(x, checkinForm)
	if err != nil {
		return a, err
	}
	a.Code = form.Text("code")
	a.Door = storedHeader(x, "X-Door", maxDoor, &form.Faults)
	a.Nonce = idempotencyKey(x, &form.Faults)
	return a, sound(form)
}

// stamp formats a time as replies print it, without quotes; "" for the zero time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	v := value.Time(t)
	return string(v[1 : len(v)-1])
}

// duplicateDetails say where and when a ticket was admitted before.
type duplicateDetails struct {
	Outcome    outcome.Outcome `json:"outcome"`
	CheckinID  string          `json:"checkin_id"`
	AdmittedAt jsontext.Value  `json:"admitted_at"`
	Door       string          `json:"door"`
	SecondsAgo int64           `json:"seconds_ago"`
	SameDoor   bool            `json:"same_door"`
	Holder     *string         `json:"holder,omitzero"`
}

func duplicate(d door.Decision) duplicateDetails {
	return duplicateDetails{d.Outcome, d.CheckinID, value.Time(d.AdmittedAt), d.Door, d.SecondsAgo, d.SameDoor, d.Holder}
}

// RevokedHeader is in every answer of a laptop that its centre has revoked.
const RevokedHeader = "X-Laptop-Revoked"

// revokedText is the notice of a revoked laptop, at the door and in /readyz.
const revokedText = "This laptop is revoked: check-ins are recorded for review; it sells and edits nothing more."

// message returns the sentence for an outcome that a door may read aloud.
func message(x *exchange, o outcome.Outcome) string {
	if x.store().Tables.Identity.IsRevoked() {
		return messages[o] + " " + revokedText
	}
	return messages[o]
}
