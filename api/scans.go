package api

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/nullable"
	"doorward/kv/door"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

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

// scanned is the decision on one of several scans. At is when the scanner read it. DoubleEntryID names the second check-in of a used ticket,
// if the door let its guest in.
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
func scans(x *exchange) error {
	id, err := event(x)
	if err != nil {
		return err
	}
	list, err := readScans(x, id)
	if err != nil {
		return unlessMissing(x, record.Event, id, err)
	}
	if err := x.store().Desk.Sees(x.caller, record.Event, id); err != nil {
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
	return x.answer(http.StatusOK, struct {
		Results []any `json:"results"`
	}{results})
}

// readScans reads the body. A fault of one scan stays with that scan. The headers give the door and the nonce of a scan that names none.
func readScans(x *exchange, id record.ID) ([]offlineScan, error) {
	form, _, err := readForm(x, scansForm)
	if err != nil {
		return nil, err
	}
	door := storedHeader(x, "X-Door", maxDoor, &form.Faults)
	key := idempotencyKey(x, &form.Faults)
	if err := sound(form); err != nil {
		return nil, err
	}
	given, _ := form.Value("scans")
	items := scanItems.Split(given)
	list := make([]offlineScan, len(items))
	for i, item := range items {
		o := &list[i]
		*o = readScanItem(item, x.store().Tables.Clock.Zone())
		if o.Event = id.Int(); o.Door == "" {
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
	o.Attempt = door.Attempt{Code: form.Text("code"), Door: form.Text("door"), Nonce: form.Text("nonce"), LetIn: string(letIn) == "true", Way: door.Way(form.Text("direction"))}
	o.At, _ = value.ParseDateTime(form.Text("at"), zone) // its faults are the form's
	o.nonce, o.err = o.Nonce, sound(form)
	return o
}

// result returns the answer to a scan.
func (o *offlineScan) result(x *exchange, d door.Decision) any {
	if o.err == nil {
		return scanned{rulingOf(d, message(x, d.Outcome)), nullable.Text(d.Double), d.Replayed, nullable.Time(o.At), nullable.Text(o.nonce)}
	}
	if errors.Is(o.err, table.ErrKeyReused) {
		return refusedScan{errorView{"UNPROCESSABLE_ENTITY", "This nonce was used for another code.", nil}, nullable.Time(o.At), nullable.Text(o.nonce)}
	}
	return refusedScan{x.explain(o.err).view(), nullable.Time(o.At), nullable.Text(o.nonce)}
}
