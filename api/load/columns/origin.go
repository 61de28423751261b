package columns

import (
	"fmt"
	"slices"
	"strings"

	"doorward/api/load/cells"
	"doorward/api/load/kinds"
	"doorward/api/load/words"
	"doorward/kv/record"
)

// Origin is a system with known exports: what its titles cannot say by themselves.
type Origin struct {
	Name    string
	kind    *record.Kind
	signs   []string            // the titles that show it, in plain form; of those between bars one
	columns map[string][]string // field → its titles, the first that a row fills counts
	IDs     string              // the title of the people's ids, which become external ids
	others  []string            // titles that sound as if they decided on admission, and do not
	dates   cells.Order         // of dates that do not show it themselves; "" = not known
	UTC     []string            // fields with times in UTC, if they have no offset
	Types   bool                // its products are not all admissions
	noCode  string              // what to do where no column has the codes
}

// Unknown is known of a file that no origin fits.
var Unknown = &Origin{Name: "none"}

// OwnOrigin is this program: what export wrote.
var OwnOrigin = &Origin{Name: "doorward"}

var pretixUTC = []string{"valid_from", "valid_until"}

// origins are the systems that are known, the more special before the others.
var origins = []*Origin{
	{Name: "pretix-positions", kind: record.Ticket, Types: true,
		signs:   []string{"ticket secret|segredo do ingresso|secreto del ticket|codigo secreto del ticket", "order code|codigo do pedido|codigo del pedido"},
		columns: map[string][]string{kinds.Email: {"attendee email", "email do participante", "e mail do participante", "email", "e mail"}}},
	{Name: "pretix-checkin", kind: record.Ticket, Types: true, UTC: pretixUTC,
		signs: []string{"secret|segredo|secreto", "order code|codigo do pedido|codigo del pedido"}},
	{Name: "pretix-codes", kind: record.Ticket, Types: true, UTC: pretixUTC,
		signs: []string{"secret|segredo|secreto", "product|produto|producto", "variation|variacao|variacion"}},
	{Name: "pretix-json", kind: record.Ticket},
	{Name: "sympla", kind: record.Ticket, dates: cells.DayFirst,
		signs: []string{"n ingresso|numero do ingresso|numero ingresso", "n pedido|numero do pedido", "tipo de ingresso", "ordem de inscricao|cupom de desconto|estado de pagamento"}},
	{Name: "eventbrite", kind: record.Ticket, dates: cells.MonthFirst, others: []string{"order type", "eventbrite payment processing"},
		signs:  []string{"order number|order id", "attendee number|attendee status", "ticket type"},
		noCode: "what the QR code holds is Eventbrite's column “Barcode #”: export the list again with it"},
	{Name: "planning-center", kind: record.Person, dates: cells.MonthFirst, IDs: "person id",
		columns: map[string][]string{kinds.Email: {"home email", "work email", "other email"}},
		signs:   []string{"person id", "given name|household id|name prefix|nickname", "first name", "last name"}},
	{Name: "rock", kind: record.Person, dates: cells.MonthFirst, IDs: "id",
		signs: []string{"family id", "last name", "nick name|connection status|record status"}},
	{Name: "churchcrm", kind: record.Person, IDs: "person id",
		signs: []string{"family id|familyid", "last name|lastname", "first name|firstname", "envelope number|family role|classification|homephone"}},
}

// OriginNamed finds an origin by what --from says; nil for "".
func OriginNamed(name string, f kinds.Form) (*Origin, error) {
	if name == "" || name == Unknown.Name {
		return map[string]*Origin{Unknown.Name: Unknown}[name], nil
	}
	var names []string
	for _, o := range origins {
		if o.Name == name && o.kind == f.Kind {
			return o, nil
		}
		names = append(names, o.Name)
	}
	if slices.Contains(names, name) {
		return nil, fmt.Errorf("%w: --from %s: its rows are not of kind %s", kinds.ErrUsage, name, f.Kind.Name)
	}
	return nil, fmt.Errorf("%w: --from %s: no such source%s; known are %s, none", kinds.ErrUsage, name, words.DidYouMean(name, names), strings.Join(names, ", "))
}

// Origins are the names of the systems that are known, and the one for none of them.
func Origins() (names []string) {
	for _, o := range origins {
		names = append(names, o.Name)
	}
	return append(names, Unknown.Name)
}

// originOf recognises the system that wrote a file by its titles.
func originOf(f kinds.Form, plains []string) *Origin {
	for _, o := range origins {
		if o.kind == f.Kind && len(o.signs) > 0 && !slices.ContainsFunc(o.signs, func(sign string) bool {
			return !slices.ContainsFunc(strings.Split(sign, "|"), func(t string) bool { return slices.Contains(plains, t) })
		}) {
			return o
		}
	}
	return Unknown
}
