package api

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/nullable"
	"doorward/api/query"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/search"
)

// The bounds of what a door searches for, in characters.
const (
	minTyped = 2
	maxTyped = 255
)

// readSearch reads the search of a list of people into what the store is asked. A text without terms is no search. fuzzy tells whether to
// forgive one edit if nothing is found.
func (c *collection) readSearch(q query.Query, ask *desk.Query, faults *fault.ByField) (fuzzy bool) {
	if c.kind != record.Person {
		return false
	}
	forgiving, ranked := q.Flag("fuzzy", faults), c.surface == record.Admin && q.Flag("ranked", faults)
	text, ok := q.Text("search")
	if !ok {
		return false
	}
	if ranked {
		if r := search.ParseRanked(text); !r.Empty() {
			ask.Ranked = r
		}
		return false
	}
	if e := search.Parse(text); !e.Empty() {
		ask.Search, fuzzy = e, forgiving
	}
	return fuzzy
}

// fuzzily is the value of X-Search for a search that forgave edits.
var fuzzily = []string{"fuzzy"}

// find lists the records of a search. Each page decides by itself whether to forgive edits: only a search without a result forgives them.
func find(x *exchange, ask desk.Query, fuzzy bool) (desk.Page, error) {
	page, err := x.store().Desk.List(x.caller, ask)
	if err != nil || page.Count > 0 || !fuzzy {
		return page, err
	}
	ask.Search, ask.Into = ask.Search.Fuzzy(), page.Results
	if page, err = x.store().Desk.List(x.caller, ask); err == nil {
		x.Header()["X-Search"] = fuzzily
	}
	return page, err
}

// foundTicket is a ticket as a door's search shows it: enough to tell two tickets of one label apart, without the full name and the code. A
// member that does not apply is null. Matched says why a search found the ticket; other lists leave it out.
type foundTicket struct {
	TicketID   int64          `json:"ticket_id"`
	Label      *string        `json:"label"`
	Type       *string        `json:"type"`
	Order      *string        `json:"order"`
	State      *string        `json:"state"`
	PhoneTail  *string        `json:"phone_tail"`
	AdmittedAt jsontext.Value `json:"admitted_at"`
	CheckinID  *string        `json:"checkin_id"`
	Notice     *string        `json:"notice"`
	Matched    []door.Match   `json:"matched,omitzero"`
}

// foundTickets are the tickets that a door's search finds, the likeliest first. More tells that it found others and does not show them.
type foundTickets struct {
	Results []foundTicket `json:"results"`
	More    bool          `json:"more,omitzero"`
}

// searchTickets answers GET /door/v1/event/{id}/search/.
func searchTickets(x *exchange, event int64) error {
	typed, err := readTyped(x.query)
	if err != nil {
		return unlessMissing(x, event, err)
	}
	hits, err := x.store().Door.FindTickets(x.caller, event, search.ParseRanked(typed), x.server.config.Finder)
	if err != nil {
		return err
	}
	if x.caller.Supervises() || len(hits) <= stewardHits {
		return x.answer(http.StatusOK, viewFound(hits))
	}
	list := viewFound(hits[:stewardHits])
	list.More = true
	return x.answer(http.StatusOK, list)
}

// stewardHits is how many tickets a steward's search shows: a list is not to be browsed at a door.
const stewardHits = 5

func viewFound(hits []door.TicketHit) foundTickets {
	list := foundTickets{Results: make([]foundTicket, len(hits))}
	for i, h := range hits {
		list.Results[i] = foundTicket{
			TicketID: h.Ticket.Int(), Label: nullable.Text(h.Label), Type: nullable.Text(h.Type), Order: nullable.Text(h.Order), State: nullable.Text(h.State),
			PhoneTail: nullable.Text(h.PhoneTail), AdmittedAt: nullable.Time(h.AdmittedAt), CheckinID: nullable.Text(h.CheckinID), Notice: nullable.Text(h.Notice),
			Matched: h.Matched,
		}
	}
	return list
}

// family answers GET /door/v1/event/{id}/family/.
func family(x *exchange, event int64) error {
	checkin, given := x.query.Last("checkin_id")
	if !given {
		return unlessMissing(x, event, fault.ByField{"checkin_id": {fault.Required}})
	}
	hits, err := x.store().Door.Family(x.caller, event, checkin)
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, viewFound(hits))
}

// checkinParameter is the parameter of family in the OpenAPI document.
var checkinParameter = parameterDoc{
	name: "checkin_id", required: true, schema: map[string]any{"type": "string"}, text: "A check-in of one ticket of the order.",
}

// readTyped reads the text that a helper has typed. Separators alone count as blank.
func readTyped(q query.Query) (string, error) {
	typed, given := q.Last("q")
	typed = strings.TrimFunc(typed, func(r rune) bool { return r == ',' || r == '"' || unicode.IsSpace(r) })
	var faults fault.ByField
	switch n := utf8.RuneCountInString(typed); {
	case !given:
		faults.Add("q", fault.Required)
	case n == 0:
		faults.Add("q", fault.Blank)
	case n < minTyped:
		faults.Add("q", fault.TooShort(minTyped))
	case n > maxTyped:
		faults.Add("q", fault.TooLong(maxTyped))
	default:
		return typed, nil
	}
	return "", faults
}

// typedParameter is the parameter of search_tickets in the OpenAPI document.
var typedParameter = parameterDoc{
	name: "q", required: true, schema: map[string]any{"type": "string", "minLength": minTyped, "maxLength": maxTyped},
	text: "Words of a name in any order, whole, begun, mistyped or of the same sound, or the last digits of a phone.",
}
