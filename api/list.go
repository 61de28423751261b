package api

import (
	"errors"
	"maps"
	"net/http"

	"doorward/kv"
	"doorward/kv/fault"
)

// list answers GET of the list.
func (c *collection) list(x *exchange) error { return c.page(x) }

// page answers with a page of the records that hold some conditions besides the caller's own.
func (c *collection) page(x *exchange, own ...kv.Where) error {
	l := x.listing()
	where, faults := readFilters(c.filters, l.query, x.store().Zone())
	search := c.readSearch(l.query, &faults)
	ask := kv.Query{
		Surface: c.surface, Kind: c.kind, Where: append(own, where...), Offset: l.offset, Limit: l.limit, Into: x.buffer,
		Head: l.appendHead,
	}
	page, err := x.find(ask, search)
	if err = bothFaults(faults, err); err != nil {
		return err
	}
	x.buffer = append(page.Results, '}')
	return x.reply(http.StatusOK, x.buffer)
}

// bothFaults joins the faults that were seen here with those that the store saw.
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
