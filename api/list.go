package api

import (
	"errors"
	"maps"
	"net/http"

	"doorward/api/query"
	"doorward/kv"
	"doorward/kv/record"
)

// list answers GET of the list.
func (c *collection) list(x *exchange) error { return c.page(x) }

// page answers with a page of the records that hold some conditions besides the caller's own.
func (c *collection) page(x *exchange, own ...kv.Where) error {
	l := x.listing()
	where, faults := query.Conditions(c.filters, l.query, x.store().Zone())
	search := c.readSearch(l.query, &faults)
	ask := kv.Query{
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

// bothFaults joins the faults that were seen here with those that the store saw.
func bothFaults(ours record.Faults, err error) error {
	if len(ours) == 0 {
		return err
	}
	var theirs record.Faults
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
