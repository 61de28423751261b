package api

import (
	"errors"
	"net/http"

	"doorward/api/query"
	"doorward/kv"
	"doorward/kv/record"
)

// collection is the records of one kind behind one path.
type collection struct {
	kind    *record.Kind
	form    *record.Kind // what a body is read as: the kind, but for tickets
	surface record.Surface
	path    string // of the list
	filters []query.Filter
}

// target is what a request about one of the records is about.
func (c *collection) target(x *exchange) (kv.Target, error) {
	id, ok := c.kind.ParseID(x.request.PathValue("id"))
	if !ok {
		return kv.Target{}, kv.ErrNotFound
	}
	return kv.Target{Surface: c.surface, Kind: c.kind, ID: id}, nil
}

// retrieve answers GET of one record.
func (c *collection) retrieve(x *exchange) error {
	t, err := c.target(x)
	if err != nil {
		return err
	}
	rep, err := x.store().Retrieve(x.caller, t)
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
		return unlessForbidden(x, kv.Target{Kind: c.kind}, err)
	}
	return c.store(x, patch, body)
}

// store writes a new record and answers with it.
func (c *collection) store(x *exchange, patch *record.Patch, body []byte) error {
	t := kv.Target{Surface: c.surface, Kind: c.kind, Once: once(x, body, &patch.Faults)}
	rep, err := x.store().Create(x.caller, t, patch)
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
	rep, err := x.store().Update(x.caller, t, patch)
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
	if err := x.store().Delete(x.caller, t); err != nil {
		return err
	}
	return x.done()
}

// unlessForbidden is what is wrong with a request's body, unless the caller may not make or change the record, or it is missing:
// that is said first.
func unlessForbidden(x *exchange, t kv.Target, fault error) error {
	err := x.store().Permits(x.caller, t)
	if errors.Is(err, kv.ErrForbidden) || errors.Is(err, kv.ErrNotFound) {
		return err
	}
	return fault
}

// unlessMissing is what is wrong with a request's body, unless the record that it is about is missing: that is said first.
func unlessMissing(x *exchange, k *record.Kind, id record.ID, fault error) error {
	if err := x.store().Sees(x.caller, k, id); errors.Is(err, kv.ErrNotFound) {
		return err
	}
	return fault
}
