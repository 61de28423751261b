package api

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/barcode"
	"doorward/api/nullable"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/outcome"
	"doorward/kv/record"
)

// directionField says which way a door leads.
var directionField = record.Field{Name: "direction", Type: record.Choice{string(door.In), string(door.Out), string(door.Reentry)}, Flags: record.Null}

// The bodies of the door's requests.
var (
	scanForm = record.Form("scan_form",
		record.Field{Name: "code", Type: record.Text{Min: 1, Max: 255}},
		record.Field{Name: "ticket_id", Type: record.Integer{Min: 1, Max: record.MaxID}, Flags: record.Null},
		record.Field{Name: "door", Type: record.Text{Max: maxDoor}, Flags: record.Null},
		record.Field{Name: "nonce", Type: record.Text{Max: maxIdempotency}, Flags: record.Null},
		directionField,
	)
	undoForm = record.Form("undo_form",
		record.Field{Name: "checkin_id", Type: record.Text{Min: 1, Max: 26}, Flags: record.Required},
		record.Field{Name: "reason", Type: record.Text{Max: 255}, Flags: record.Null},
	)
)

// ruling is the answer to a scan, whatever the decision. A member that does not apply is null.
type ruling struct {
	Outcome    outcome.Outcome `json:"outcome"`
	CheckinID  *string         `json:"checkin_id"`
	AdmittedAt jsontext.Value  `json:"admitted_at"`
	Door       *string         `json:"door"`
	SecondsAgo *int64          `json:"seconds_ago"`
	Label      *string         `json:"label"`
	Type       *string         `json:"type"`
	Order      *string         `json:"order"`
	Notice     *string         `json:"notice"`
	Message    string          `json:"message"`
}

func rulingOf(d door.Decision, message string) ruling {
	v := ruling{
		Outcome: d.Outcome, CheckinID: nullable.Text(d.CheckinID), AdmittedAt: nullable.Time(d.AdmittedAt), Door: nullable.Text(d.Door),
		Label: nullable.Text(d.Label), Type: nullable.Text(d.Type), Order: nullable.Text(d.Order), Notice: nullable.Text(d.Notice), Message: message,
	}
	if !d.AdmittedAt.IsZero() {
		v.SecondsAgo = &d.SecondsAgo
	}
	return v
}

// scan answers POST /door/v1/event/{id}/scan/.
func scan(x *exchange) error {
	d, err := attempted(x, readScan)
	if err != nil {
		return err
	}
	return answerDecision(x, d)
}

// readScan reads a scan. Door and nonce in the body go before those in the headers.
func readScan(x *exchange) (a door.Attempt, err error) {
	form, _, err := readForm(x, scanForm)
	if err != nil {
		return a, err
	}
	a = door.Attempt{Code: form.Text("code"), Door: form.Text("door"), Nonce: form.Text("nonce"), Way: door.Way(form.Text("direction"))}
	if id, ok := form.Value("ticket_id"); ok {
		a.Ticket, _ = strconv.ParseInt(string(id), 10, 64) // the form holds an integer, or null
	}
	judgeTicket(form, a)
	if a.Door == "" {
		a.Door = storedHeader(x, "X-Door", maxDoor, &form.Faults)
	}
	if a.Nonce == "" {
		a.Nonce = idempotencyKey(x, &form.Faults)
	}
	return a, sound(form)
}

// judgeTicket adds a fault unless a scan names its ticket in exactly one way.
func judgeTicket(form *record.Patch, a door.Attempt) {
	_, null := form.Value("code") // a text is never empty here
	switch {
	case len(form.Faults["code"]) > 0 || len(form.Faults["ticket_id"]) > 0:
	case a.Code == "" && a.Ticket == 0 && null:
		form.Faults.Add("code", fault.Null)
	case a.Code == "" && a.Ticket == 0:
		form.Faults.Add("code", fault.Required)
	case a.Code != "" && a.Ticket != 0:
		form.Faults.Add("ticket_id", "Either a code or a ticket_id is wanted.")
	}
}

// undo answers POST /door/v1/event/{id}/undo/.
func undo(x *exchange) error {
	id, err := event(x)
	if err != nil {
		return err
	}
	u, err := readUndo(x)
	if err != nil {
		return unlessMissing(x, record.Event, id, err)
	}
	u.Event = id.Int()
	d, err := x.store().Door.Undo(x.caller, u)
	if err != nil {
		return err
	}
	return answerDecision(x, d)
}

func readUndo(x *exchange) (u door.Undoing, err error) {
	form, body, err := readForm(x, undoForm)
	if err != nil {
		return u, err
	}
	u = door.Undoing{CheckinID: form.Text("checkin_id"), Reason: form.Text("reason")}
	u.Door = storedHeader(x, "X-Door", maxDoor, &form.Faults)
	u.Once = once(x, body, &form.Faults)
	return u, sound(form)
}

// answerDecision answers with a decision.
func answerDecision(x *exchange, d door.Decision) error {
	markReplayed(x, d.Replayed)
	return x.answer(http.StatusOK, rulingOf(d, message(x, d.Outcome)))
}

// maxPhoto is the largest picture, in bytes. A phone's photo of 12 megapixels takes 3 to 6 MiB.
const maxPhoto = 8 << 20

// photosAtOnce is how many pictures are read at a time; others wait.
const photosAtOnce = 2

// photoFile is the body of a request to read codes.
var photoFile = &fileBody{types: []string{"image/jpeg", "image/png", fileMedia}, example: "the bytes of a JPEG or PNG picture"}

// decoded is the list of codes on a picture.
type decoded struct {
	Codes []barcode.Code `json:"codes"`
}

// decode answers POST /door/v1/decode/: the codes in a picture, none where it shows none. It decides nothing about tickets.
func decode(x *exchange) error {
	if !photoFile.holds(x.request.Header) {
		return errPhotoType
	}
	if x.request.ContentLength > maxPhoto {
		return errTooLarge
	}
	photo, err := readAll(http.MaxBytesReader(x.ResponseWriter, x.request.Body, maxPhoto), x.request.ContentLength)
	if err != nil {
		return unreadable(err)
	}
	codes, err := x.server.photos.Read(x.request.Context(), photo)
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, decoded{codes})
}
