package feed

import (
	"context"
	"errors"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Log reads all changes in their order.
type Log struct{ tables *table.Set }

func New(t *table.Set) *Log { return &Log{tables: t} }

// Replayed is a change with what it made.
type Replayed struct {
	table.Change
	Home int64       // the church or event that the record belongs to; 0 = none, or deleted
	Body record.Body // on memory of its own; empty where the record is deleted or fails its checksum
}

// replayPage is how many rows of the log one View reads.
const replayPage = 1000

// Replay reads at most limit rows of the log after a sequence, oldest first, for a follower of the log. page has the rows of
// the given kinds. upto is how far Replay has read: the last row or, at the log's end, the store's own sequence, because a new
// epoch begins without a change. It is for denomination level.
func (lg *Log) Replay(p auth.Principal, since uint64, limit int, kinds ...*record.Kind) (page []Replayed, upto uint64, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, since, err
	}
	upto = since
	for limit > 0 {
		n := min(limit, replayPage)
		seen := 0
		err = lg.tables.View(func(v *table.View) (err error) {
			page, seen, upto, err = appendReplay(v, page, upto, n, kinds)
			if err != nil || seen == n {
				return err
			}
			end, err := table.Sequence(v)
			upto = max(upto, end)
			return err
		})
		if err != nil || seen < n {
			return page, upto, err
		}
		limit -= n
	}
	return page, upto, nil
}

// appendReplay appends what up to n rows of the log after since say of some kinds.
func appendReplay(v *table.View, page []Replayed, since uint64, n int, kinds []*record.Kind) (_ []Replayed, seen int, upto uint64, err error) {
	upto = since
	err = v.Scan(table.LogBucket, nil, table.SeqKey(since+1), func(key, row []byte) (bool, error) {
		c, err := table.ParseLog(key, row)
		if err != nil {
			return false, err
		}
		if slices.Contains(kinds, c.Kind) {
			r, err := replayed(v, c)
			if err != nil {
				return false, err
			}
			page = append(page, r)
		}
		seen, upto = seen+1, c.Seq
		return seen < n, nil
	})
	return page, seen, upto, err
}

// replayed loads the record that a change made. It leaves out the body of a record that fails its checksum, so a follower
// continues without it.
func replayed(v *table.View, c table.Change) (Replayed, error) {
	r := Replayed{Change: c}
	if c.Deleted {
		return r, nil
	}
	st, err := v.Load(c.Kind, c.ID)
	if errors.Is(err, engine.ErrCorrupt) {
		v.Store.Damage.Note(err)
		return r, nil
	}
	if err != nil || st == nil {
		return r, err
	}
	r.Home = st.Home(c.Kind)
	cut := len(st.Body.Shown)
	run := append(append(make([]byte, 0, cut+len(st.Body.Hidden)), st.Body.Shown...), st.Body.Hidden...)
	r.Body = record.Body{Shown: run[:cut:cut], Hidden: run[cut:]}
	return r, nil
}

// Await returns nil once the log holds a change after a sequence, or the store has released something since Releases answered a number; the
// error of ctx when that ends first.
func (lg *Log) Await(ctx context.Context, seq, releases uint64) error {
	return lg.tables.Commits.Bell.Await(ctx, func() bool { return lg.tables.Commits.Seq() > seq || lg.tables.Commits.Releases() != releases })
}
