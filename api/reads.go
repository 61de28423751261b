package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv"
	"doorward/kv/value"
)

// readsView says how many records of a kind a key was shown within a minute.
type readsView struct {
	Minute  jsontext.Value `json:"minute"`
	KeyID   int64          `json:"key_id"`
	Kind    string         `json:"kind"`
	Records int64          `json:"records"`
}

var readsFilters = join([]filter{{"key_id", "key_id", byID}, {"kind", "kind", byText}}, spans("minute", "minute"))

// listReads answers GET /admin/v1/reads/: the latest first.
func listReads(x *exchange) error {
	l := x.listing()
	where, faults := readFilters(readsFilters, l.query, x.store().Zone())
	page, err := x.store().Reads(x.caller, kv.ReadsQuery{Where: where, Offset: l.offset, Limit: l.limit})
	if err = bothFaults(faults, err); err != nil {
		return err
	}
	views := make([]readsView, len(page.Reads))
	for i, r := range page.Reads {
		views[i] = readsView{value.Time(r.Minute), r.Key, r.Kind.Name, int64(r.Records)}
	}
	return l.replyWith(views, page.Count)
}
