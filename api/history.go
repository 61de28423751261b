package api

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/nullable"
	"doorward/api/query"
	"doorward/kv/desk"
	"doorward/kv/fault"
	"doorward/kv/value"
)

// pastView is a revision of a record, or of a part of a ticket. A member that is not known is null.
type pastView struct {
	Kind    string         `json:"kind"`
	ID      string         `json:"id"` // of the record: a holding of a ticket has its own
	Rev     string         `json:"rev"`
	At      jsontext.Value `json:"at"`
	Key     *int64         `json:"key"`
	Node    *string        `json:"node"`
	Fields  []string       `json:"fields"`
	Deleted bool           `json:"deleted"`
	Winner  bool           `json:"winner"`
	Held    bool           `json:"held"`
}

// pastBody is a revision with its body.
type pastBody struct {
	pastView `json:",inline"`
	Body     jsontext.Value `json:"body"`
}

// historySchema is the schema of a history.
func historySchema(view map[string]any) map[string]any {
	view["properties"].(map[string]any)["body"] = map[string]any{"type": []string{"object", "null"}}
	return map[string]any{"type": "array", "items": view}
}

// bodiesParameter asks for the bodies of the revisions.
var bodiesParameter = parameterDoc{name: "bodies", schema: map[string]any{"type": "boolean"}, text: "With the bodies that are held."}

// onHistory is the route of a record's history.
func (c *collection) onHistory() route {
	word := nounOf(c.kind)
	return route{http.MethodGet, c.path + "{id}/history/", c.needs(http.MethodGet), c.history, operation{
		id: c.prefixed(identifier("list revisions of " + word.one)), tag: adminTag + word.many, summary: "List the revisions of " + word.a(),
		text: "As far as they are known, the newest first.", status: 200, reply: "history", query: []parameterDoc{bodiesParameter}}}
}

// history answers GET of a record's history.
func (c *collection) history(x *exchange) error {
	t, err := c.target(x)
	if err != nil {
		return err
	}
	bodies, err := wantsBodies(x)
	if err != nil {
		if missing := x.store().Desk.Sees(x.caller, c.kind, t.ID); missing != nil {
			return missing
		}
		return err
	}
	all, err := x.store().Desk.History(x.caller, t, bodies)
	if err != nil {
		return err
	}
	views := make([]any, len(all))
	for i := range all {
		view := viewPast(&all[i])
		views[i] = view
		if bodies {
			views[i] = pastBody{view, nullable.JSON(all[i].Body)}
		}
	}
	return x.answer(http.StatusOK, views)
}

func wantsBodies(x *exchange) (bool, error) {
	text, given := query.Parse(x.request.URL.RawQuery).Text(bodiesParameter.name)
	if !given {
		return false, nil
	}
	bodies, ok := value.ParseBool(text)
	if !ok {
		var faults fault.ByField
		faults.Add(bodiesParameter.name, fault.NotBool)
		return false, faults
	}
	return bodies, nil
}

func viewPast(p *desk.Past) pastView {
	return pastView{
		Kind: p.Kind.Name, ID: p.ID, Rev: p.Revision, At: nullable.Time(p.At.Truncate(time.Microsecond)), Key: nullable.ID(p.Key), Node: nullable.Text(p.Node),
		Fields: p.Fields, Deleted: p.Deleted, Winner: p.Winner, Held: p.Held,
	}
}
