package docs

import (
	"cmp"
	"encoding/binary"
	"slices"

	"doorward/kv/engine"
	"doorward/kv/table"
)

// includes tells whether a change is between the feed's bounds.
func (f Feed) includes(seq uint64) bool {
	return seq > f.Since && (!f.Descending || seq <= f.Before-1) // 0 - 1 is beyond all
}

// readChanges reads a page of a database's log. The page ends at the feed's limit, or earlier if the bodies are large.
func readChanges(v *table.View, docs documents, f Feed) (page []DocChange, more bool, err error) {
	limit, size := min(f.Limit, DocPage), 0
	rows := docs.rows
	if f.IDs != nil {
		rows = func(v *table.View, f Feed, fn func(table.ScopeChange) (bool, error)) error {
			return namedRows(v, docs, f, fn)
		}
	}
	err = rows(v, f, func(c table.ScopeChange) (bool, error) {
		if c.Removed && f.Since == 0 {
			return true, nil // a new reader has nothing to remove
		}
		if more = len(page) >= limit || size > pageBytes; more {
			return false, nil
		}
		d, err := docs.change(v, c, f.Bodies)
		if err == nil {
			page, size = append(page, d), size+len(d.Winner.Body)
		}
		return err == nil, err
	})
	return page, more, err
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
