package load

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/load/kinds"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/value"
)

// item is one row of a file on its way to the store: what to write, or why not.
type item struct {
	line     int
	form     kinds.Form
	row      entry.Row
	fate     desk.Fate
	err      error // the store's, for a rejected one
	rejected *Rejection
	column   func(field string) string // the file's name for a field

	entered  bool // the file says that the ticket was used
	at       time.Time
	checkin  outcome.Outcome // Admitted if it was checked in, Undone if that was undone here before; "" = neither
	readmits bool            // it makes a ticket valid that was blocked, refunded or cancelled
	stood    bool            // its ticket was there, valid or unpaid
}

// draft is a row as its file gives it: a JSON object under the kind's own names.
type draft struct {
	line   int
	form   kinds.Form
	id     string
	event  bool // the object names an event
	body   []byte
	column func(field string) string

	entered bool      // the row says that its ticket was used
	at      time.Time // when; zero = not said
}

// maker makes items of drafts.
type maker struct {
	event int64
	zone  *time.Location
	seen  *seen    // nil = every row is known to be another
	named contents // nil with seen

	reinstates bool // rows may let tickets in that are kept out here
}

func (it *item) reject(field, why string) *item {
	it.rejected = &Rejection{Line: it.line, Column: it.column(field), Reason: why}
	return it
}

// item reads a draft by its kind's table, and compares it with the rows before it.
func (m *maker) item(d draft) *item {
	it := &item{line: d.line, form: d.form, column: d.column, entered: d.entered, at: d.at}
	if d.form.Field(kinds.Event) != nil && !d.event {
		if m.event == 0 && d.id == "" {
			return it.reject(kinds.Event, "no event: the row names none and --event is not given")
		}
		if m.event != 0 {
			d.body = addMember(d.body, kinds.Event, value.Number(m.event))
		}
	}
	if d.id != "" {
		id, ok := d.form.Kind.ParseID(d.id)
		if !ok {
			return it.reject(kinds.ID, "not an id: an integer from 1 is wanted")
		}
		it.row.ID = id
	}
	patch, err := d.form.Table.Parse(d.body, record.ParseOptions{Surface: record.Admin, Zone: m.zone})
	if err != nil {
		return it.reject("", syntax(err))
	}
	if len(patch.Faults) > 0 {
		r := ofFaults(it.line, patch.Faults, it.column)
		it.rejected = &r
		return it
	}
	it.row.Kind, it.row.Patch, it.row.Reinstates = d.form.Kind, patch, m.reinstates
	if it.unnamed() {
		return it.reject(kinds.FullName, "no name")
	}
	if m.seen != nil {
		if it.nameless() {
			return it.reject(kinds.Code, fault.Required)
		}
		m.named.name(it)
		if field, first := m.seen.before(it); first > 0 {
			return it.reject(field, fmt.Sprintf("the same %s stands in line %d", field, first))
		}
	}
	return it
}

// nameless tells whether a ticket has neither id, code nor external_id. It would get another code at each import.
func (it *item) nameless() bool {
	p := it.row.Patch
	return it.form.Kind == record.Ticket && it.row.ID.IsZero() && text(p, kinds.Code) == "" && text(p, kinds.ExternalID) == ""
}

// unnamed tells whether a row is a new person without a name.
func (it *item) unnamed() bool {
	if it.form.Kind != record.Person || !it.row.ID.IsZero() || text(it.row.Patch, kinds.FullName) != "" {
		return false
	}
	_, given := it.row.Patch.Value(kinds.FullName)
	return given || text(it.row.Patch, kinds.ExternalID) == ""
}

// addMember puts a member at the front of an object.
func addMember(body []byte, name string, v jsontext.Value) []byte {
	out := make([]byte, 0, len(body)+len(name)+len(v)+4)
	out = append(append(append(out, `{"`...), name...), `":`...)
	out = append(out, v...)
	if rest := bytes.TrimSpace(body[1:]); len(rest) > 0 && rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, body[1:]...)
}

// syntax says at which character a line stops being a JSON object.
func syntax(err error) string {
	var s *value.SyntaxError
	if errors.As(err, &s) {
		return reason(fmt.Sprintf("not a JSON object: %s at character %d", s.Reason, s.Column))
	}
	return "not a JSON object"
}
