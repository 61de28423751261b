package api

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"doorward/api/nullable"
	"doorward/api/query"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// collection is the records of one kind behind one path.
type collection struct {
	kind    *record.Kind
	form    *record.Kind // how a body is read: as the kind; for a ticket as the ticket form
	surface record.Surface
	path    string // of the list
	filters []query.Filter
}

// onRecord runs a handler with the record that the path names.
func (c *collection) onRecord(do func(*exchange, desk.Target) error) func(*exchange) error {
	return withID(c.kind, func(x *exchange, id record.ID) error {
		return do(x, desk.Target{Surface: c.surface, Kind: c.kind, ID: id})
	})
}

// retrieve answers GET of one record.
func (c *collection) retrieve(x *exchange, t desk.Target) error {
	rep, err := x.store().Desk.Retrieve(x.caller, t)
	if err != nil {
		return err
	}
	tag := entityTag(rep)
	x.Header()["Etag"] = []string{tag}
	if unchanged(x, tag) {
		x.WriteHeader(http.StatusNotModified)
		return nil
	}
	return x.reply(http.StatusOK, rep.JSON)
}

// create answers POST to the list.
func (c *collection) create(x *exchange) error {
	patch, body, err := readPatch(x, c.form, record.ParseOptions{Surface: c.surface, Create: true})
	if err != nil {
		return unlessForbidden(x, desk.Target{Kind: c.kind}, err)
	}
	return c.store(x, patch, body)
}

// store writes a new record and answers with it.
func (c *collection) store(x *exchange, patch *record.Patch, body []byte) error {
	t := desk.Target{Surface: c.surface, Kind: c.kind, Once: once(x, body, &patch.Faults)}
	rep, err := x.store().Desk.Create(x.caller, t, patch)
	if err != nil {
		return err
	}
	h := x.Header()
	h["Etag"] = []string{entityTag(rep)}
	if c.path != "" {
		h["Location"] = []string{x.address(c.path + c.kind.FormatID(rep.ID) + "/")}
	}
	markReplayed(x, rep.Replayed)
	return x.reply(http.StatusCreated, rep.JSON)
}

// update answers PATCH of one record.
func (c *collection) update(x *exchange, t desk.Target) error {
	patch, _, err := readPatch(x, c.form, record.ParseOptions{Surface: c.surface})
	if err != nil {
		return unlessForbidden(x, t, err)
	}
	t.IfMatch = ifMatch(x)
	rep, err := x.store().Desk.Update(x.caller, t, patch)
	if err != nil {
		return err
	}
	x.Header()["Etag"] = []string{entityTag(rep)}
	return x.reply(http.StatusOK, rep.JSON)
}

// remove answers DELETE of one record.
func (c *collection) remove(x *exchange, t desk.Target) error {
	t.IfMatch = ifMatch(x)
	return x.done(x.store().Desk.Delete(x.caller, t))
}

// unlessForbidden returns the fault of a request's body. If the caller may not write the record, or the record is missing, it returns that
// error instead.
func unlessForbidden(x *exchange, t desk.Target, fault error) error {
	err := x.store().Desk.Permits(x.caller, t)
	if errors.Is(err, auth.ErrForbidden) || errors.Is(err, table.ErrNotFound) {
		return err
	}
	return fault
}

// unlessMissing returns the fault of a request's body, or ErrNotFound if the event is missing.
func unlessMissing(x *exchange, event int64, fault error) error {
	if err := x.store().Desk.Sees(x.caller, record.Event, record.Int(event)); errors.Is(err, table.ErrNotFound) {
		return err
	}
	return fault
}

// page answers GET of the list, with a page of records that meet the conditions of the query, and the route's own.
func (c *collection) page(x *exchange, own ...desk.Where) error {
	l := x.listing(c.filters)
	ask := desk.Query{
		Surface: c.surface, Kind: c.kind, Where: append(own, l.Where...), Offset: l.Offset, Limit: l.Limit, Into: x.buffer,
		Head: l.appendHead, Finder: x.server.config.Finder,
	}
	fuzzy := c.readSearch(l.query, &ask, &l.faults)
	page, err := find(x, ask, fuzzy)
	if err = bothFaults(l.faults, err); err != nil {
		return err
	}
	x.buffer = append(page.Results, '}')
	return x.reply(http.StatusOK, x.buffer)
}

// bothFaults joins the faults that this package has found with the store's error.
func bothFaults(ours fault.ByField, err error) error {
	if len(ours) == 0 {
		return err
	}
	if theirs, ok := errors.AsType[fault.ByField](err); ok {
		merged := maps.Clone(theirs)
		for field, texts := range ours {
			merged[field] = append(merged[field][:len(merged[field]):len(merged[field])], texts...)
		}
		return merged
	}
	if err != nil {
		return err
	}
	return ours
}

// groupParameter is the path parameter of the group that memberships are listed under, by the name that the contract gives it.
const groupParameter = "parent_lookup_small_group_id"

// memberships are listed and made under their group, and have no path of their own.
var memberships = &collection{kind: record.Membership, form: record.Membership, surface: record.V1}

// group is the id of the group in the path.
func group(x *exchange) (record.ID, error) {
	id, err := parseID(record.Group, x.request.PathValue(groupParameter))
	if err != nil {
		return id, err
	}
	return id, x.store().Desk.Sees(x.caller, record.Group, id)
}

// listMemberships answers GET of a group's memberships.
func listMemberships(x *exchange) error {
	id, err := group(x)
	if err != nil {
		return err
	}
	return memberships.page(x, desk.Where{Field: "group_id", In: []any{id.Int()}})
}

// createMembership answers POST to a group's memberships. The group in the path is the only one that counts.
func createMembership(x *exchange) error {
	id, err := group(x)
	if err != nil {
		return err
	}
	patch, body, err := readPatch(x, record.Membership, record.ParseOptions{Surface: record.V1, Create: true})
	if err != nil {
		return err
	}
	patch.Set("group_id", value.Number(id.Int()))
	delete(patch.Faults, "group_id")
	err = memberships.store(x, patch, body)
	if faults, ok := errors.AsType[fault.ByField](err); ok && len(faults["group_id"]) > 0 { // gone since it was looked for
		return table.ErrNotFound
	}
	return err
}

// listing is a request for a part of a list, with what is wrong with its query.
type listing struct {
	*exchange
	desk.Part
	faults fault.ByField
}

// listing reads a request for a part of a list that some filters narrow.
func (x *exchange) listing(filters []query.Filter) listing {
	part, faults := query.Part(filters, x.query, x.store().Tables.Clock.Zone())
	return listing{x, part, faults}
}

// listFor answers with a page of a list that the query narrows by some filters: read asks the store for it, and view shows one of its items.
func listFor[T, V any](x *exchange, filters []query.Filter, read func(auth.Principal, desk.Part) (desk.PageOf[T], error), view func(*T) V) error {
	l := x.listing(filters)
	page, err := read(x.caller, l.Part)
	if err = bothFaults(l.faults, err); err != nil {
		return err
	}
	return replyEach(l, page.Items, page.Count, view)
}

// replyEach answers with a view of each record of one page of a list. count is the length of the whole list.
func replyEach[T, V any](l listing, page []T, count int, view func(*T) V) error {
	views := make([]V, len(page))
	for i := range page {
		views[i] = view(&page[i])
	}
	results, err := json.Marshal(views)
	if err != nil {
		return err
	}
	return l.reply(http.StatusOK, append(append(l.appendHead(l.buffer, count), results...), '}'))
}

// within returns the page of a whole list that the request asks for.
func within[T any](l listing, all []T) []T {
	return all[min(l.Offset, len(all)):min(l.Offset+l.Limit, len(all))]
}

// appendHead begins a list's reply: count, next, previous, and the name of the results, which the caller appends.
func (l listing) appendHead(dst []byte, count int) []byte {
	dst = append(dst, `{"count":`...)
	dst = strconv.AppendInt(dst, int64(count), 10)
	dst = append(dst, `,"next":`...)
	if l.Offset+l.Limit < count {
		dst = l.appendLink(dst, l.Offset+l.Limit)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"previous":`...)
	if l.Offset > 0 {
		dst = l.appendLink(dst, l.Offset-l.Limit)
	} else {
		dst = append(dst, "null"...)
	}
	return append(dst, `,"results":`...)
}

// appendLink appends the address of the list's part that begins at an offset, as a JSON string.
func (l listing) appendLink(dst []byte, at int) []byte {
	offset := ""
	if at > 0 {
		offset = strconv.Itoa(at)
	}
	link := append([]byte(l.address(l.path())), '?')
	link = l.query.With("limit", strconv.Itoa(l.Limit)).With("offset", offset).AppendSorted(link)
	dst, err := jsontext.AppendQuote(dst, link)
	if err != nil {
		panic(err) // a link is ASCII, and its Host was checked before
	}
	return dst
}

// path returns the request's path below the mount, with a slash at its end.
func (x *exchange) path() string {
	return strings.TrimSuffix(strings.TrimPrefix(x.request.URL.Path, x.server.Prefix()), "/") + "/"
}

// address returns the absolute URL of a path: below the public URL if there is one, else at the Host of the request.
func (x *exchange) address(path string) string {
	if base := x.server.base; base != nil {
		return base.Scheme + "://" + base.Host + base.Path + path
	}
	return cmp.Or(x.scheme, "http") + "://" + x.request.Host + path
}

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
	view["properties"].(map[string]any)["body"] = map[string]any{"type": []string{"object", "null"}, "additionalProperties": true}
	return map[string]any{"type": "array", "items": view}
}

// bodiesParameter asks for the bodies of the revisions.
var bodiesParameter = parameterDoc{name: "bodies", schema: map[string]any{"type": "boolean"}, text: "With the bodies that are held."}

// onHistory is the route of a record's history.
func (c *collection) onHistory() route {
	word := nounOf(c.kind)
	return route{http.MethodGet, c.path + "{id}/history/", c.needs(http.MethodGet), c.onRecord(c.history), operation{
		id: prefixed(c.surface, identifier("list revisions of "+word.one)), tag: adminTag + word.many, summary: "List the revisions of " + word.a(),
		text: "As far as they are known, the newest first.", status: 200, reply: "history", query: []parameterDoc{bodiesParameter}}}
}

// history answers GET of a record's history.
func (c *collection) history(x *exchange, t desk.Target) error {
	var faults fault.ByField
	bodies := x.query.Flag(bodiesParameter.name, &faults)
	if len(faults) > 0 {
		return cmp.Or[error](x.store().Desk.Sees(x.caller, c.kind, t.ID), faults)
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
			views[i] = pastBody{view, all[i].Body}
		}
	}
	return x.answer(http.StatusOK, views)
}

func viewPast(p *desk.Past) pastView {
	return pastView{
		Kind: p.Kind.Name, ID: p.ID, Rev: p.Revision, At: nullable.Time(p.At.Truncate(time.Microsecond)), Key: nullable.ID(p.Key), Node: nullable.Text(p.Node),
		Fields: p.Fields, Deleted: p.Deleted, Winner: p.Winner, Held: p.Held,
	}
}
