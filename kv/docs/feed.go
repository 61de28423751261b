package docs

import (
	"cmp"
	"encoding/binary"
	"slices"

	"doorward/kv/engine"
	"doorward/kv/table"
)

// changePage is a page of a feed while it is read: it ends at the feed's limit, or earlier if the bodies are large.
type changePage struct {
	limit, size int
	changes     []DocChange
	more        bool
}

// isFull tells whether the page takes no more changes. It notes that there are more.
func (p *changePage) isFull() bool {
	p.more = len(p.changes) >= p.limit || p.size > pageBytes
	return p.more
}

func (p *changePage) add(c DocChange) {
	p.changes = append(p.changes, c)
	p.size += len(c.Winner.Body)
}

// includes tells whether a change is between the feed's bounds.
func (f Feed) includes(seq uint64) bool {
	return seq > f.Since && (!f.Descending || seq <= f.Before-1) // 0 - 1 is beyond all
}

// readChanges reads a page of a database's log.
func readChanges(v *table.View, docs documents, f Feed) ([]DocChange, bool, error) {
	p := &changePage{limit: min(f.Limit, DocPage)}
	rows := docs.rows
	if f.IDs != nil {
		rows = func(v *table.View, f Feed, fn func(table.ScopeChange) (bool, error)) error {
			return namedRows(v, docs, f, fn)
		}
	}
	err := rows(v, f, func(c table.ScopeChange) (bool, error) {
		if c.Removed && f.Since == 0 {
			return true, nil // a new reader has nothing to remove
		}
		if p.isFull() {
			return false, nil
		}
		d, err := docs.change(v, c, f.Bodies)
		if err == nil {
			p.add(d)
		}
		return err == nil, err
	})
	return p.changes, p.more, err
}

// namedRows calls fn with the rows of the documents that a feed names, in the order of the log.
func namedRows(v *table.View, docs documents, f Feed, fn func(table.ScopeChange) (bool, error)) error {
	var found []table.ScopeChange
	for _, id := range slices.Compact(slices.Sorted(slices.Values(f.IDs))) {
		c, err := docs.latest(v, id)
		if err != nil {
			return err
		}
		if f.includes(c.Seq) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b table.ScopeChange) int {
		if f.Descending {
			a, b = b, a
		}
		return cmp.Compare(a.Seq, b.Seq)
	})
	for _, c := range found {
		if more, err := fn(c); err != nil || !more {
			return err
		}
	}
	return nil
}

// walkLog calls fn with the rows of a log between the feed's bounds.
func walkLog(v *table.View, b engine.Bucket, prefix []byte, f Feed, fn func(seq uint64, row []byte) (bool, error)) error {
	from := f.Since + 1
	if f.Descending {
		from = f.Before - 1 // 0 - 1 is beyond all
	}
	return v.Walk(b, f.Descending, prefix, binary.BigEndian.AppendUint64(slices.Clip(prefix), from), func(key, row []byte) (bool, error) {
		if len(key) != len(prefix)+8 {
			return false, engine.ErrCorrupt
		}
		seq := binary.BigEndian.Uint64(key[len(prefix):])
		if seq <= f.Since {
			return false, nil
		}
		return fn(seq, row)
	})
}

// maxCounted is how many changes are counted one by one.
const maxCounted = 10_000

// pending is how many changes of a database lie beyond a sequence. Beyond maxCounted the number is an upper bound.
func pending(v *table.View, docs documents, since uint64) (n int, err error) {
	d, err := docs.info()
	if err != nil {
		return 0, err
	}
	all := d.Docs + d.Deleted
	switch {
	case since >= d.Seq:
		return 0, nil
	case since == 0:
		return all, nil
	}
	err = docs.rows(v, Feed{Since: since, unnamed: true}, func(table.ScopeChange) (bool, error) {
		n++
		return n <= maxCounted, nil
	})
	if n > maxCounted {
		n = max(n, int(min(uint64(all), d.Seq-since)))
	}
	return n, err
}
