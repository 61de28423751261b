package pull

import (
	"slices"

	"doorward/api/load"
	"doorward/kv/desk"
	"doorward/kv/record"
)

const (
	maxListed  = 100 // records that are named one by one
	maxReasons = 100
	maxIDs     = 3 // that a reason names
)

// Report is the result of a pull.
type Report struct {
	Source   string   `json:"source"`
	DryRun   bool     `json:"dry_run"`
	Complete bool     `json:"complete"` // every list that the key may read was read to its end, and all of it was taken or kept
	Stopped  string   `json:"stopped"`  // why the pull ended early; "" = it did not
	Kinds    []*Kind  `json:"kinds"`
	Refused  []Reason `json:"refused"`
	Kept     []Record `json:"kept"` // the first hundred records that were changed or deleted here
	MoreKept int      `json:"kept_more"`
	Gone     []Record `json:"gone"` // the first hundred that the source does not show any more
	MoreGone int      `json:"gone_more"`
	Notes    []string `json:"notes"`
}

// Kind is the result for one kind.
type Kind struct {
	Kind        string `json:"kind"`
	Seen        int    `json:"seen"`
	Created     int    `json:"created"`
	Updated     int    `json:"updated"`
	Unchanged   int    `json:"unchanged"`
	Kept        int    `json:"kept"`
	Refused     int    `json:"refused"`
	Gone        int    `json:"gone"`
	Changes     bool   `json:"changes_only"` // only what had changed since the last pull was read
	NotReadable string `json:"not_readable"` // why the key cannot read the list; "" = it can
	Failed      string `json:"failed"`       // why the list was not read to its end; "" = it was
}

// Record names one record.
type Record struct {
	Kind string `json:"kind"`
	ID   int64  `json:"id"`
}

// Reason is a reason for refusals, with their number and first ids. It repeats nothing that a record says.
type Reason struct {
	Kind   string  `json:"kind"`
	Field  string  `json:"field"`
	Reason string  `json:"reason"`
	Count  int     `json:"count"`
	IDs    []int64 `json:"ids"`
}

func newReport(base string, dry bool) *Report {
	return &Report{Source: base, DryRun: dry, Kinds: []*Kind{}, Refused: []Reason{}, Kept: []Record{}, Gone: []Record{}, Notes: []string{}}
}

// of returns the line of a kind.
func (r *Report) of(k *record.Kind) *Kind {
	i := slices.IndexFunc(r.Kinds, func(one *Kind) bool { return one.Kind == k.Name })
	if i < 0 {
		i = len(r.Kinds)
		r.Kinds = append(r.Kinds, &Kind{Kind: k.Name})
	}
	return r.Kinds[i]
}

// refuse notes a record that was not written.
func (r *Report) refuse(k *record.Kind, id int64, err error) {
	r.of(k).Refused++
	why := load.Refusal(err)
	for i := range r.Refused {
		if one := &r.Refused[i]; one.Kind == k.Name && one.Field == why.Column && one.Reason == why.Reason {
			if one.Count++; len(one.IDs) < maxIDs {
				one.IDs = append(one.IDs, id)
			}
			return
		}
	}
	if len(r.Refused) < maxReasons {
		r.Refused = append(r.Refused, Reason{k.Name, why.Column, why.Reason, 1, []int64{id}})
	}
}

// count notes the result of one record.
func (r *Report) count(k *record.Kind, one desk.RowResult) {
	line := r.of(k)
	switch one.Fate {
	case desk.Created:
		line.Created++
	case desk.Updated:
		line.Updated++
	case desk.Unchanged:
		line.Unchanged++
	case desk.Kept:
		line.Kept++
		r.Kept, r.MoreKept = listed(r.Kept, r.MoreKept, Record{k.Name, one.ID.Int()})
	case desk.Rejected:
		r.refuse(k, one.ID.Int(), one.Err)
	}
}

func (r *Report) gone(k *record.Kind, id int64) {
	r.of(k).Gone++
	r.Gone, r.MoreGone = listed(r.Gone, r.MoreGone, Record{k.Name, id})
}

func listed(list []Record, more int, one Record) ([]Record, int) {
	if len(list) == maxListed {
		return list, more + 1
	}
	return append(list, one), more
}

// judge says whether the pull is complete.
func (r *Report) judge() {
	r.Complete = r.Stopped == ""
	for _, k := range r.Kinds {
		r.Complete = r.Complete && k.Failed == "" && k.Refused == 0
	}
}
