package api

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/door"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// messages are what a door may read aloud. They hold no name and no code.
var messages = map[table.Outcome]string{
	table.Admitted:       "Admitted.",
	door.AlreadyAdmitted: "This ticket was already admitted.",
	door.UnknownCode:     "No ticket has this code.",
	door.WrongEvent:      "This ticket is for another event.",
	door.Cancelled:       "This ticket was cancelled.",
	door.Refunded:        "This ticket was refunded.",
	door.Unpaid:          "This ticket is not paid yet.",
	door.Blocked:         "This ticket is blocked.",
	door.NotYetValid:     "This ticket is not valid yet.",
	door.NoLongerValid:   "This ticket is no longer valid.",
	door.EventClosed:     "The event takes no check-ins.",
	door.Undone:          "The check-in was undone.",
	door.Left:            "Left.",
	door.NotInside:       "This ticket is not inside.",
}

// checkinForm is the body of a check-in.
var checkinForm = record.Form("checkin_form",
	record.Field{Name: "code", Type: record.Text{Min: 1, Max: 255}, Flags: record.Required},
)

// event is the id of the event in the path, if it can name one.
func event(x *exchange) (record.ID, error) {
	id, ok := record.Event.ParseID(x.request.PathValue("id"))
	if !ok {
		return id, table.ErrNotFound
	}
	return id, nil
}

// attempted reads an attempt at the event in the path, by a surface's own way, and has it decided.
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
	if d.Outcome != table.Admitted {
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

// stamp is a moment as replies print it, without quotes; "" for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	v := value.Time(t)
	return string(v[1 : len(v)-1])
}

// duplicateDetails say where and when a ticket was admitted before.
type duplicateDetails struct {
	Outcome    table.Outcome  `json:"outcome"`
	CheckinID  string         `json:"checkin_id"`
	AdmittedAt jsontext.Value `json:"admitted_at"`
	Door       string         `json:"door"`
	SecondsAgo int64          `json:"seconds_ago"`
	SameDoor   bool           `json:"same_door"`
	Holder     *string        `json:"holder,omitzero"`
}

func duplicate(d door.Decision) duplicateDetails {
	return duplicateDetails{d.Outcome, d.CheckinID, value.Time(d.AdmittedAt), d.Door, d.SecondsAgo, d.SameDoor, d.Holder}
}

// RevokedHeader is in every answer of a laptop that its centre has revoked.
const RevokedHeader = "X-Laptop-Revoked"

// revokedText is what a revoked laptop says at the door and in /readyz.
const revokedText = "This laptop is revoked: check-ins are recorded for review; it sells and edits nothing more."

// message is what a door may read aloud of an outcome.
func message(x *exchange, outcome table.Outcome) string {
	if x.store().Tables.IsRevoked() {
		return messages[outcome] + " " + revokedText
	}
	return messages[outcome]
}
