package api

import (
	"errors"
	"maps"
	"net/http"

	"doorward/api/query"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// collection is the records of one kind behind one path.
type collection struct {
	kind    *record.Kind
	form    *record.Kind // how a body is read: as the kind; for a ticket as the ticket form
	surface record.Surface
	path    string // of the list
	filters []query.Filter
}

// target returns the record that the path names.
func (c *collection) target(x *exchange) (desk.Target, error) {
	id, err := x.pathID(c.kind)
	return desk.Target{Surface: c.surface, Kind: c.kind, ID: id}, err
}

// retrieve answers GET of one record.
func (c *collection) retrieve(x *exchange) error {
	t, err := c.target(x)
	if err != nil {
		return err
	}
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
func (c *collection) update(x *exchange) error {
	t, err := c.target(x)
	if err != nil {
		return err
	}
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
func (c *collection) remove(x *exchange) error {
	t, err := c.target(x)
	if err != nil {
		return err
	}
	t.IfMatch = ifMatch(x)
	if err := x.store().Desk.Delete(x.caller, t); err != nil {
		return err
	}
	return x.done()
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

// unlessMissing returns the fault of a request's body, or ErrNotFound if the record is missing.
func unlessMissing(x *exchange, k *record.Kind, id record.ID, fault error) error {
	if err := x.store().Desk.Sees(x.caller, k, id); errors.Is(err, table.ErrNotFound) {
		return err
	}
	return fault
}

// list answers GET of the list.
func (c *collection) list(x *exchange) error { return c.page(x) }

// page answers with a page of records that meet the conditions of the query, and the route's own.
func (c *collection) page(x *exchange, own ...desk.Where) error {
	l := x.listing()
	where, faults := l.where(c.filters)
	search := c.readSearch(l.query, &faults)
	ask := desk.Query{
		Surface: c.surface, Kind: c.kind, Where: append(own, where...), Offset: l.Offset, Limit: l.Limit, Into: x.buffer,
		Head: l.appendHead,
	}
	page, err := find(x, ask, search)
	if err = bothFaults(faults, err); err != nil {
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
	var theirs fault.ByField
	if errors.As(err, &theirs) {
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
	var faults fault.ByField
	if errors.As(err, &faults) && len(faults["group_id"]) > 0 { // gone since it was looked for
		return table.ErrNotFound
	}
	return err
}
