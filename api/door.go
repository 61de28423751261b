package api

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"doorward/api/barcode"
	"doorward/api/nullable"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"

	"github.com/go-json-experiment/json/jsontext"
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
	closingForm = record.Form("closing_form",
		record.Field{Name: "door", Type: record.Text{Min: 1, Max: maxDoor}, Flags: record.Required},
	)
	undoForm = record.Form("undo_form",
		record.Field{Name: "checkin_id", Type: record.Text{Min: 1, Max: 26}, Flags: record.Required},
		record.Field{Name: "reason", Type: record.Text{Max: 255}, Flags: record.Null},
	)
)

// ruling is the answer to a scan, whatever the decision. A member that does not apply is null; the last three are left out then.
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
	ValidFrom  jsontext.Value  `json:"valid_from,omitzero"`
	ValidUntil jsontext.Value  `json:"valid_until,omitzero"`
	OutSince   jsontext.Value  `json:"out_since,omitzero"`
}

func rulingOf(d door.Decision, message string) ruling {
	v := ruling{
		Outcome: d.Outcome, CheckinID: nullable.Text(d.CheckinID), AdmittedAt: nullable.Time(d.AdmittedAt), Door: nullable.Text(d.Door),
		Label: nullable.Text(d.Label), Type: nullable.Text(d.Type), Order: nullable.Text(d.Order), Notice: nullable.Text(d.Notice), Message: message,
		ValidFrom: timeIfAny(d.ValidFrom), ValidUntil: timeIfAny(d.ValidUntil), OutSince: timeIfAny(d.OutSince),
	}
	if !d.AdmittedAt.IsZero() {
		v.SecondsAgo = &d.SecondsAgo
	}
	return v
}

// timeIfAny is a moment as an answer shows it; nil for the zero one, which is left out.
func timeIfAny(t time.Time) jsontext.Value {
	if t.IsZero() {
		return nil
	}
	return value.Time(t)
}

// scan answers POST /door/v1/event/{id}/scan/.
func scan(x *exchange, event int64) error {
	d, err := attempted(x, event, readScan)
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
	a = door.Attempt{Code: form.Text("code"), Door: form.Text("door"), Nonce: form.Text("nonce"), Way: door.Way(form.Text("direction")), Helper: true}
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
	return a, form.Faults.Err()
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
func undo(x *exchange, event int64) error {
	u, err := readUndo(x)
	if err != nil {
		return unlessMissing(x, event, err)
	}
	u.Event = event
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
	return u, form.Faults.Err()
}

// closedDoor is the answer to a door that is closed.
type closedDoor struct {
	Door     string         `json:"door"`
	ClosedAt jsontext.Value `json:"closed_at"`
}

// closeDoor answers POST /door/v1/event/{id}/close_door/.
func closeDoor(x *exchange, event int64) error {
	form, _, err := readForm(x, closingForm)
	if err == nil {
		err = form.Faults.Err()
	}
	if err != nil {
		return unlessMissing(x, event, err)
	}
	name := form.Text("door")
	pages, _ := x.server.company.look(event)
	at, err := x.store().Door.CloseDoor(x.caller, event, name, pages[name] > 0)
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, closedDoor{name, value.Time(at)})
}

// answerDecision answers with a decision.
func answerDecision(x *exchange, d door.Decision) error {
	markReplayed(x, d.Replayed)
	return x.answer(http.StatusOK, rulingOf(d, message(x, d)))
}

// maxPhoto is the largest picture, in bytes. A phone's photo of 12 megapixels takes 3 to 6 MiB.
const maxPhoto = 8 << 20

// photosAtOnce is how many pictures are read at a time; others wait.
const photosAtOnce = 2

// photoFile is the body of a request to read codes.
var photoFile = &fileBody{types: []string{"image/jpeg", "image/png", fileMedia}, any: true, example: "the bytes of a JPEG or PNG picture"}

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

// atEvent runs a handler with the id of the event in the path.
func atEvent(do func(x *exchange, event int64) error) func(*exchange) error {
	return withID(record.Event, func(x *exchange, id record.ID) error { return do(x, id.Int()) })
}

// attempted reads an attempt at an event and has the door decide it. read is the surface's own way to read the body.
func attempted(x *exchange, event int64, read func(*exchange) (door.Attempt, error)) (d door.Decision, err error) {
	a, err := read(x)
	if err != nil {
		return d, unlessMissing(x, event, err)
	}
	a.Event = event
	return x.store().Door.CheckIn(x.caller, a)
}

// checkIn answers POST /v1/event/{id}/checkin/.
func checkIn(x *exchange, event int64) error {
	d, err := attempted(x, event, readCheckIn)
	if err != nil {
		return err
	}
	markReplayed(x, d.Replayed)
	if d.Outcome != outcome.Admitted {
		return &notAdmitted{d}
	}
	h := x.Header()
	h["X-Checkin-Id"] = []string{d.CheckinID}
	h["X-Checkin-At"] = []string{value.Unquote(value.Time(d.AdmittedAt))}
	return x.done(nil)
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
	return a, form.Faults.Err()
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

// message returns the sentence for a decision that a door may read aloud. A time in it is in the server's zone.
func message(x *exchange, d door.Decision) string {
	text := messages[d.Outcome]
	if !d.ValidFrom.IsZero() {
		text = "This ticket is not valid before " + d.ValidFrom.In(x.store().Tables.Clock.Zone()).Format("2006-01-02 15:04") + "."
	}
	if x.store().Tables.Identity.IsRevoked() {
		return text + " " + revokedText
	}
	return text
}

// maxScans is how many scans one request hands in.
const maxScans = 1000

// The body of what an offline scanner hands in, and of each of its scans.
var (
	offlineForm = record.Form("offline_scan",
		record.Field{Name: "code", Type: record.Text{Min: 1, Max: 255}, Flags: record.Required},
		record.Field{Name: "at", Type: record.DateTime{}, Flags: record.Required},
		record.Field{Name: "nonce", Type: record.Text{Max: maxIdempotency}, Flags: record.Null},
		record.Field{Name: "door", Type: record.Text{Max: maxDoor}, Flags: record.Null},
		record.Field{Name: "let_in", Type: record.Bool{}, Flags: record.Null},
		directionField,
	)
	scanItems = record.Items{Of: offlineForm, Max: maxScans}
	scansForm = record.Form("scans_form", record.Field{Name: "scans", Type: scanItems, Flags: record.Required})
)

// scanned is the decision on one of several scans. At is when the scanner read it. DoubleEntryID names the check-in of a guest whom the door let
// in with a ticket that was used, or that is refused.
type scanned struct {
	ruling        `json:",inline"`
	DoubleEntryID *string        `json:"double_entry_id"`
	Replayed      bool           `json:"replayed"`
	At            jsontext.Value `json:"at"`
	Nonce         *string        `json:"nonce"`
}

// refusedScan is the error of one of several scans.
type refusedScan struct {
	Error errorView      `json:"error"`
	At    jsontext.Value `json:"at"`
	Nonce *string        `json:"nonce"`
}

// offlineScan is one of several scans of a request.
type offlineScan struct {
	door.Attempt
	nonce string // its own
	err   error
}

// scans answers POST /door/v1/event/{id}/scans/. A bad scan is refused alone.
func scans(x *exchange, event int64) error {
	list, err := readScans(x, event)
	if err != nil {
		return unlessMissing(x, event, err)
	}
	if err := x.store().Desk.Sees(x.caller, record.Event, record.Int(event)); err != nil {
		return err
	}
	var attempts []door.Attempt
	for i := range list {
		if list[i].err == nil {
			attempts = append(attempts, list[i].Attempt)
		}
	}
	judged, err := x.store().Door.CheckInAll(x.caller, attempts)
	if err != nil {
		return err
	}
	results := make([]any, len(list))
	for i := range list {
		var d door.Decision
		if list[i].err == nil {
			d, list[i].err = judged[0].Decision, judged[0].Err
			judged = judged[1:]
		}
		results[i] = list[i].result(x, d)
	}
	return x.answer(http.StatusOK, map[string]any{"results": results})
}

// readScans reads the body. A fault of one scan stays with that scan. The headers give the door and the nonce of a scan that names none.
func readScans(x *exchange, event int64) ([]offlineScan, error) {
	form, _, err := readForm(x, scansForm)
	if err != nil {
		return nil, err
	}
	door := storedHeader(x, "X-Door", maxDoor, &form.Faults)
	key := idempotencyKey(x, &form.Faults)
	if err := form.Faults.Err(); err != nil {
		return nil, err
	}
	given, _ := form.Value("scans")
	items := scanItems.Split(given)
	list := make([]offlineScan, len(items))
	for i, item := range items {
		o := &list[i]
		*o = readScanItem(item, x.store().Tables.Clock.Zone())
		if o.Event = event; o.Door == "" {
			o.Door = door
		}
		if o.Nonce == "" && key != "" {
			o.Nonce = key + "\x00" + strconv.Itoa(i) // no client can send a NUL
		}
	}
	return list, nil
}

// readScanItem reads one scan.
func readScanItem(item jsontext.Value, zone *time.Location) (o offlineScan) {
	form, err := offlineForm.Parse(item, record.ParseOptions{Surface: record.Admin, Create: true, Zone: zone})
	if err != nil {
		o.err = err
		return o
	}
	letIn, _ := form.Value("let_in")
	o.Attempt = door.Attempt{Code: form.Text("code"), Door: form.Text("door"), Nonce: form.Text("nonce"), LetIn: string(letIn) == "true",
		Way: door.Way(form.Text("direction")), Helper: true}
	o.At, _ = value.ParseDateTime(form.Text("at"), zone) // its faults are the form's
	o.nonce, o.err = o.Nonce, form.Faults.Err()
	return o
}

// result returns the answer to a scan.
func (o *offlineScan) result(x *exchange, d door.Decision) any {
	if o.err == nil {
		return scanned{rulingOf(d, message(x, d)), nullable.Text(d.Double), d.Replayed, nullable.Time(o.At), nullable.Text(o.nonce)}
	}
	if errors.Is(o.err, table.ErrKeyReused) {
		return refusedScan{errorView{"UNPROCESSABLE_ENTITY", "This nonce was used for another code.", nil}, nullable.Time(o.At), nullable.Text(o.nonce)}
	}
	return refusedScan{x.explain(o.err).view(), nullable.Time(o.At), nullable.Text(o.nonce)}
}
