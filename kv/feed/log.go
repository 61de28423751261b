package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Log reads all changes in their order.
type Log struct{ tables *table.Set }

func New(t *table.Set) *Log { return &Log{tables: t} }

// LeftOut is what Each answers when it has done with a kind of which some records are damaged: every other one is exported.
type LeftOut struct {
	Records []string // "person 12 of bucket kind:person", "ticket 7 for another record of it"; at most 100
	Count   int      // all of them
}

func (l *LeftOut) Error() string {
	text := fmt.Sprintf("%d damaged records are left out: %s", l.Count, strings.Join(l.Records, ", "))
	if l.Count == 1 {
		text = "a damaged record is left out: " + l.Records[0]
	}
	if more := l.Count - len(l.Records); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Is makes a LeftOut an ErrCorrupt.
func (l *LeftOut) Is(target error) bool { return target == engine.ErrCorrupt }

// Add adds what was left out of another kind.
func (l *LeftOut) Add(o *LeftOut) {
	l.Count += o.Count
	l.Records = append(l.Records, o.Records[:min(len(o.Records), table.MaxDamage-len(l.Records))]...)
}

// Export calls fn with every record of a kind, as Each does. It returns *Forbidden below denomination level.
func (lg *Log) Export(p auth.Principal, k *record.Kind, fn func(json []byte) error) error {
	if err := p.CheckWhole(); err != nil {
		return err
	}
	return lg.Each(p, k, fn)
}

// Each calls fn with every record of a kind that p sees, in id order: one JSON object that Upsert's parser reads back. It holds no
// transaction while fn runs. A *LeftOut comes after all that is sound.
func (lg *Log) Each(p auth.Principal, k *record.Kind, fn func(json []byte) error) error {
	if err := p.CheckKind(record.Admin, k, "GET"); err != nil {
		return err
	}
	e := &exportPages{reader: p, kind: k}
	for more := true; more; {
		var page [][]byte
		err := lg.tables.View(func(v *table.View) (err error) {
			page, more, err = e.next(v)
			return err
		})
		if err != nil {
			return err
		}
		for _, json := range page {
			if err := fn(json); err != nil {
				return err
			}
		}
	}
	if e.out.Count > 0 {
		return &e.out
	}
	return nil
}

// exportPages reads a kind page by page.
type exportPages struct {
	reader auth.Principal
	kind   *record.Kind
	last   record.ID // of the page before
	out    LeftOut
}

// next answers a page of what is sound; more tells that there may be another.
func (e *exportPages) next(v *table.View) (page [][]byte, more bool, err error) {
	v.Reader = e.reader
	all := v.Lists.Kind(e.kind).All
	for _, id := range all.Page(nil, all.Rank(e.last), table.ExportPage+1) {
		if id == e.last {
			continue
		}
		json, err := e.record(v, id)
		switch {
		case errors.Is(err, engine.ErrCorrupt):
			v.Store.Damage.Note(err)
			e.out.Add(&LeftOut{Records: []string{e.lost(v, id)}, Count: 1})
		case err != nil:
			return nil, false, err
		case json != nil:
			page = append(page, json)
		}
		e.last, more = id, true
	}
	return page, more, nil
}

// lost names a record that is left out, and where the damage is: in its own row, or in one without which it is not whole, as a ticket
// without its holder's name.
func (e *exportPages) lost(v *table.View, id record.ID) string {
	name := e.kind.Name + " " + e.kind.FormatID(id)
	if st, err := v.Load(e.kind, id); err == nil && st != nil {
		return name + " for another record of it"
	}
	return fmt.Sprintf("%s of bucket %s", name, table.Schema[table.KindBucket(e.kind)].Name)
}

// record answers a record; nil = the reader does not see it.
func (e *exportPages) record(v *table.View, id record.ID) ([]byte, error) {
	st, err := v.Load(e.kind, id)
	if err == nil && st == nil {
		err = fmt.Errorf("%w: kind %s lacks a listed record", engine.ErrCorrupt, e.kind.Name)
	}
	if err != nil {
		return nil, err
	}
	if !e.reader.IsWhole() {
		if sees, err := entry.Sees(v, e.reader, e.kind, st); err != nil || !sees {
			return nil, err
		}
	}
	r, err := entry.MakeReply(v, record.Admin, e.kind, st)
	return r.JSON, err
}

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
	r.Home, r.Body = st.Home(c.Kind), st.Kept().Body
	return r, nil
}

// Await returns nil once the log holds a change after a sequence, or the store has released something since Releases answered a number; the
// error of ctx when that ends first.
func (lg *Log) Await(ctx context.Context, seq, releases uint64) error {
	return lg.tables.Commits.Bell.Await(ctx, func() bool { return lg.tables.Commits.Seq() > seq || lg.tables.Commits.Releases() != releases })
}
