package api

import (
	"cmp"
	"maps"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/door"
	"doorward/kv/outcome"
	"doorward/kv/value"
)

// maxNames is how many ticket types, and how many doors, a status names. Those with the most admissions are named.
const maxNames = 200

// statusView counts an event's check-ins. Types and Doors are by name, "" for tickets without a type; the members _more add up the names
// beyond maxNames. Minutes are the latest 240 with a scan, oldest first.
type statusView struct {
	EventID   int64                   `json:"event_id"`
	Issued    int                     `json:"issued"`
	Admitted  int                     `json:"admitted"`
	Doubles   int                     `json:"double_entries"`
	Inside    int                     `json:"inside"`
	Outcomes  map[outcome.Outcome]int `json:"outcomes"`
	Types     map[string]typeCount    `json:"types"`
	TypesMore typeCount               `json:"types_more"`
	Doors     map[string]int          `json:"doors"`
	DoorsMore int                     `json:"doors_more"`
	Minutes   []minuteView            `json:"minutes"`
}

type typeCount struct {
	Issued   int `json:"issued"`
	Admitted int `json:"admitted"`
}

type minuteView struct {
	Minute   jsontext.Value `json:"minute"`
	Admitted int            `json:"admitted"`
	Refused  int            `json:"refused"`
}

// status answers GET /door/v1/event/{id}/status/.
func status(x *exchange) error {
	id, err := event(x)
	if err != nil {
		return err
	}
	st, err := x.store().Door.Status(x.caller, id.Int())
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, viewStatus(id.Int(), st))
}

func viewStatus(event int64, st door.Status) statusView {
	v := statusView{EventID: event, Issued: st.Issued, Admitted: st.Admitted, Doubles: st.Doubles, Inside: st.Inside, Outcomes: st.Outcomes,
		Types: map[string]typeCount{}, Doors: map[string]int{}, Minutes: make([]minuteView, len(st.Minutes))}
	types := most(st.Types, func(a, b door.TypeCount) int { return cmp.Or(b.Admitted-a.Admitted, b.Issued-a.Issued) })
	for i, name := range types {
		n := st.Types[name]
		if i < maxNames {
			v.Types[name] = typeCount(n)
			continue
		}
		v.TypesMore = typeCount{v.TypesMore.Issued + n.Issued, v.TypesMore.Admitted + n.Admitted}
	}
	for i, name := range most(st.Doors, func(a, b int) int { return b - a }) {
		if i < maxNames {
			v.Doors[name] = st.Doors[name]
			continue
		}
		v.DoorsMore += st.Doors[name]
	}
	for i, m := range st.Minutes {
		v.Minutes[i] = minuteView{value.Time(m.Minute), m.Admitted, m.Refused}
	}
	return v
}

// most lists the names of counts, the largest first.
func most[N any](counts map[string]N, order func(a, b N) int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(order(counts[a], counts[b]), cmp.Compare(a, b)) })
}
