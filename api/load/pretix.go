package load

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"doorward/api/load/columns"
	"doorward/api/load/sheet"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// pretix's JSON export is one object with the event, its products and its orders; the positions of the orders are the tickets.

// pretixHead is how the export begins.
var pretixHead = regexp.MustCompile(`^(\xef\xbb\xbf)?\s*\{\s*"event"\s*:\s*\{`)

func isPretix(head []byte) bool { return pretixHead.Match(head) }

const maxPretix = 256 << 20

type pretixExport struct {
	Event struct {
		Items []struct {
			ID        int64  `json:"id"`
			Name      string `json:"name"`
			Admission *bool  `json:"admission"`

			Variations []pretixNamed `json:"variations"`
		} `json:"items"`
		Orders    []pretixOrder `json:"orders"`
		Subevents []pretixNamed `json:"subevents"`
	} `json:"event"`
}

// pretixNamed is a variation of a product, or one event of a series.
type pretixNamed struct {
	ID   jsontext.Value `json:"id"`
	Name string         `json:"name"`
	From string         `json:"date_from"`
}

type pretixOrder struct {
	Code      string  `json:"code"`
	Status    string  `json:"status"`
	Test      bool    `json:"testmode"`
	User      string  `json:"user"`
	Email     string  `json:"email"`
	Phone     *string `json:"phone"`
	Comment   string  `json:"comment"`
	Positions []struct {
		Item     int64          `json:"item"`
		Name     *string        `json:"attendee_name"`
		Email    *string        `json:"attendee_email"`
		Secret   string         `json:"secret"`
		Blocked  jsontext.Value `json:"blocked"`
		Canceled bool           `json:"canceled"`
		From     *string        `json:"valid_from"`
		Until    *string        `json:"valid_until"`

		Variation jsontext.Value `json:"variation"` // its id; null = none
		Subevent  jsontext.Value `json:"subevent"`
	} `json:"positions"`
}

// pretixStates has the state of an order by its letter.
var pretixStates = map[string]string{"p": "paid", "n": "pending", "e": "expired", "c": "canceled"}

// pretixTitles are the columns of the table that openPretix makes.
var pretixTitles = []string{"code", "order", "state", "Canceled", "Blocked", "type", "holder_name", "email", "phone", "valid_from", "valid_until",
	"Variation", "Event date", "Order comment"}

// memoryTable is a table that lies in memory.
type memoryTable struct {
	rows [][]string
	at   int
}

func (m *memoryTable) Next() (sheet.Row, error) {
	if m.at == len(m.rows) {
		return sheet.Row{}, io.EOF
	}
	m.at++
	return sheet.Row{Line: m.at, Texts: m.rows[m.at-1]}, nil
}

func (m *memoryTable) Close() error { return nil }

// openPretix makes a table of the positions of an export.
func openPretix(ctx context.Context, sp *sheet.Spool, src *Source) (file, error) {
	if src.Kind == "" {
		return nil, fmt.Errorf("%w: the file is pretix's: say --kind ticket and its event", ErrUsage)
	}
	f, err := tabular(src, func() string { return "" })
	if err != nil {
		return nil, err
	}
	if f.Kind.Name != "ticket" {
		return nil, fmt.Errorf("%w: the file is pretix's: it holds tickets, not kind %s", ErrUsage, src.Kind)
	}
	export, err := readPretix(sp)
	if err != nil {
		return nil, err
	}
	rows, types, test := export.table(len(src.OnlyTypes) == 0)
	own := *src
	own.answers.From = "pretix-json"
	ly := columns.Lay(sheet.Row{Texts: pretixTitles}, f, &own.answers, nil)
	t, err := newTableFile(ctx, &own, ly, func(*columns.Layout) (sheet.Rows, error) { return &memoryTable{rows: rows}, nil })
	if err != nil {
		return nil, err
	}
	if t.types.only == nil {
		for _, name := range slices.Sorted(maps.Keys(types)) {
			t.types.all = append(t.types.all, types[name])
		}
	}
	t.types.test = test
	return t, nil
}

// table returns the positions as rows, without test orders. admissions leaves out products that are no admissions, because --only-type does not
// name the products.
func (e *pretixExport) table(admissions bool) (rows [][]string, types map[string]Type, test int) {
	admission := map[int64]bool{}
	names := map[int64]string{}
	variations, dates := map[string]string{}, named(e.Event.Subevents)
	types = map[string]Type{}
	for _, item := range e.Event.Items {
		admission[item.ID], names[item.ID] = item.Admission == nil || *item.Admission, item.Name
		maps.Copy(variations, named(item.Variations))
	}
	for _, o := range e.Event.Orders {
		for _, p := range o.Positions {
			name := names[p.Item]
			one := types[name]
			one.Name, one.Left = name, !admission[p.Item]
			one.Count++
			if deref(p.Name) != "" {
				one.Named++
			}
			types[name] = one
			if o.Test {
				test++
			}
			if one.Left && admissions || o.Test {
				continue
			}
			state, ok := pretixStates[o.Status]
			if !ok {
				state = o.Status
			}
			rows = append(rows, []string{p.Secret, o.Code, state, fmt.Sprint(p.Canceled), blocked(p.Blocked), name, deref(p.Name),
				cmp.Or(deref(p.Email), o.Email, o.User), deref(o.Phone), deref(p.From), deref(p.Until),
				nameOf(variations, p.Variation), nameOf(dates, p.Subevent), o.Comment})
		}
	}
	return rows, types, test
}

// named returns names and dates by id.
func named(all []pretixNamed) map[string]string {
	names := map[string]string{}
	for _, one := range all {
		names[string(one.ID)] = strings.TrimSpace(one.Name + " " + one.From)
	}
	return names
}

// nameOf is the name of an id, or the id where it has none.
func nameOf(names map[string]string, id jsontext.Value) string {
	if len(id) == 0 || id.Kind() == 'n' {
		return ""
	}
	return cmp.Or(names[string(id)], string(id))
}

func readPretix(sp *sheet.Spool) (*pretixExport, error) {
	info, err := os.Stat(sp.Name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the file: %w", err)
	case info.Size() > maxPretix:
		return nil, fmt.Errorf("%w: pretix's JSON is larger than 256 MiB; export the positions as CSV", ErrSource)
	}
	r, closer, err := sp.Open()
	if err != nil {
		return nil, err
	}
	if head, _ := r.Peek(3); bytes.Equal(head, []byte("\xef\xbb\xbf")) {
		_, _ = r.Discard(3) // peeked: it is there
	}
	export := &pretixExport{}
	if err := errors.Join(json.UnmarshalRead(r, export), closer.Close()); err != nil {
		return nil, fmt.Errorf("%w: it begins as pretix's JSON export and is none that can be read", ErrSource)
	}
	return export, nil
}

// blocked returns "yes" if there is any reason for a block, else "no".
func blocked(v jsontext.Value) string {
	switch string(v) {
	case "", "null", "false", "[]", `""`:
		return "no"
	}
	return "yes"
}

func deref(s *string) string {
	if s == nil || *s == "None" {
		return ""
	}
	return *s
}
