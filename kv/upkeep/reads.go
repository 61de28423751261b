package upkeep

import (
	"bytes"
	"slices"
	"time"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/table"
)

// ReadsQuery is a page of counts, the latest first.
type ReadsQuery struct {
	Where         []desk.Where // on key_id, kind and minute
	Offset, Limit int
}

// ReadsPage is what Reads returns.
type ReadsPage struct {
	Count int // of all pages
	Reads []table.Reads
}

// isWanted tells whether a count meets the conditions.
func isWanted(r *table.Reads, where []desk.Where) bool {
	for _, w := range where {
		var value any = r.Key
		switch w.Field {
		case "kind":
			value = r.Kind.Name
		case "minute":
			from, _ := w.From.(time.Time)
			to, bounded := w.To.(time.Time)
			if r.Minute.Before(from) || bounded && r.Minute.After(to) {
				return false
			}
			continue
		}
		if !slices.Contains(w.In, value) {
			return false
		}
	}
	return true
}

// readsPage is how many rows one View reads, so that no View stays open for long.
const readsPage = 20_000

// Reads lists how many records of people each key within p was shown, and when. It returns *Forbidden if p may not list keys.
func (fg *Figures) Reads(p auth.Principal, q ReadsQuery) (page ReadsPage, err error) {
	keys, err := fg.keys.Keys(p)
	if err != nil {
		return page, err
	}
	l := &readsList{query: q, within: map[int64]bool{}}
	for _, k := range keys {
		l.within[k.ID] = true
	}
	var from []byte
	for more := true; more && err == nil; {
		err = fg.tables.View(func(v *table.View) (err error) {
			if from == nil {
				held, ok := fg.tables.Reads.Held(v)
				if !ok {
					return nil // the next View is a later one
				}
				from, l.held = bytes.Repeat([]byte{0xff}, 17), held
			}
			from, more, err = l.read(v, from)
			return err
		})
	}
	for _, r := range l.held {
		l.add(r)
	}
	return l.page, err
}

// readsList collects the counts of one page, and counts all others.
type readsList struct {
	query  ReadsQuery
	within map[int64]bool
	held   []table.Reads // in memory and not passed yet, the latest first
	page   ReadsPage
}

// read goes back from a row, at most readsPage rows, and returns where the next call begins.
func (l *readsList) read(v *table.View, from []byte) (next []byte, more bool, err error) {
	n := 0
	err = v.Walk(table.ReadsBucket, true, nil, from, func(key, row []byte) (bool, error) {
		if n++; n > readsPage {
			next, more = bytes.Clone(key), true
			return false, nil
		}
		r, err := table.ParseReads(key, row)
		if err != nil {
			return false, err
		}
		for ; len(l.held) > 0 && l.held[0].Compare(&r) < 0; l.held = l.held[1:] {
			l.add(l.held[0])
		}
		if len(l.held) > 0 && l.held[0].Compare(&r) == 0 {
			r.Records += l.held[0].Records
			l.held = l.held[1:]
		}
		l.add(r)
		return true, nil
	})
	return next, more, err
}

func (l *readsList) add(r table.Reads) {
	if !l.within[r.Key] || !isWanted(&r, l.query.Where) {
		return
	}
	if l.page.Count++; l.page.Count > l.query.Offset && len(l.page.Reads) < l.query.Limit {
		l.page.Reads = append(l.page.Reads, r)
	}
}
