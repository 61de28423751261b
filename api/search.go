package api

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/value"
)

// The bounds of what a door searches for, in characters.
const (
	minTyped = 2
	maxTyped = 255
)

// searching is what a list is searched for, and how.
type searching struct {
	exact  *search.Terms  // nil = for nothing
	fuzzy  bool           // where that finds nobody, an edit is forgiven
	ranked *search.Ranked // in its stead, for people who type
}

// readSearch reads what a list of people is searched for. What has no terms is no search.
func (c *collection) readSearch(q query, faults *fault.ByField) (s searching) {
	if c.kind != record.Person {
		return s
	}
	fuzzy, ranked := q.flag("fuzzy", faults), c.surface == record.Admin && q.flag("ranked", faults)
	text, ok := q.text("search")
	if !ok {
		return s
	}
	if ranked {
		if r := search.ParseRanked(text); !r.Empty() {
			s.ranked = r
		}
		return s
	}
	if e := search.Parse(text); !e.Empty() {
		s.exact, s.fuzzy = e, fuzzy
	}
	return s
}

// flag reads a parameter that is true or false; blank counts as absent.
func (q query) flag(name string, faults *fault.ByField) bool {
	text, given := q.text(name)
	if !given {
		return false
	}
	v, ok := value.ParseBool(text)
	if !ok {
		faults.Add(name, fault.NotBool)
	}
	return v
}

// fuzzily is the value of the header that says that edits were forgiven.
var fuzzily = []string{"fuzzy"}

// find lists what is searched for. Each page decides anew whether edits are forgiven: as long as nobody is found without, all do.
func (x *exchange) find(ask kv.Query, s searching) (kv.Page, error) {
	ask.Search, ask.Ranked, ask.Finder = s.exact, s.ranked, x.server.config.Finder
	page, err := x.store().List(x.caller, ask)
	if err != nil || page.Count > 0 || !s.fuzzy {
		return page, err
	}
	ask.Search, ask.Into = s.exact.Fuzzy(), page.Results
	if page, err = x.store().List(x.caller, ask); err == nil {
		x.Header()["X-Search"] = fuzzily
	}
	return page, err
}

// foundTicket is a ticket as a door's search shows it: what tells two of one label apart, nobody's full name and no code. Null
// where there is nothing to say.
type foundTicket struct {
	TicketID   int64          `json:"ticket_id"`
	Label      *string        `json:"label"`
	Type       *string        `json:"type"`
	Order      *string        `json:"order"`
	State      *string        `json:"state"`
	PhoneTail  *string        `json:"phone_tail"`
	AdmittedAt jsontext.Value `json:"admitted_at"`
	CheckinID  *string        `json:"checkin_id"`
}

// foundTickets are the tickets that a door's search finds, the likeliest first.
type foundTickets struct {
	Results []foundTicket `json:"results"`
}

// searchTickets answers GET /door/v1/event/{id}/search/.
func searchTickets(x *exchange) error {
	id, err := event(x)
	if err != nil {
		return err
	}
	typed, err := readTyped(parseQuery(x.request.URL.RawQuery))
	if err != nil {
		return unlessMissing(x, record.Event, id, err)
	}
	hits, err := x.store().FindTickets(x.caller, id.Int(), search.ParseRanked(typed), x.server.config.Finder)
	if err != nil {
		return err
	}
	list := foundTickets{make([]foundTicket, len(hits))}
	for i, h := range hits {
		list.Results[i] = foundTicket{
			TicketID: h.Ticket.Int(), Label: orNull(h.Label), Type: orNull(h.Type), Order: orNull(h.Order), State: orNull(h.State),
			PhoneTail: orNull(h.PhoneTail), AdmittedAt: orNullTime(h.AdmittedAt), CheckinID: orNull(h.CheckinID),
		}
	}
	body, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, body)
}

// readTyped reads what was typed at a door. What only parts words is nothing.
func readTyped(q query) (string, error) {
	typed, given := q.last("q")
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

// typedParameter is what the document says of what is typed at a door.
var typedParameter = parameterDoc{
	name: "q", required: true, schema: map[string]any{"type": "string", "minLength": minTyped, "maxLength": maxTyped},
	text: "Words of a name in any order, whole, begun, mistyped or of the same sound, or the last digits of a phone.",
}
