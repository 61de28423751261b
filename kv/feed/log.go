package feed

import (
	"errors"
	"fmt"
	"strings"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Changes reads the log after a sequence, oldest first, at most limit rows. The log speaks of every record, so it is for
// denomination level.
func (lg *Log) Changes(p auth.Principal, since uint64, limit int) (changes []table.Change, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	err = lg.tables.View(func(v *table.View) error {
		return v.Scan(table.LogBucket, nil, table.SeqKey(since+1), func(key, row []byte) (bool, error) {
			if len(changes) >= limit {
				return false, nil
			}
			c, err := table.ParseLog(key, row)
			changes = append(changes, c)
			return true, err
		})
	})
	return changes, err
}

// LeftOut is what Export answers when it has done with a kind of which some records are damaged: every other one is exported.
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

// Export calls fn with every record of a kind in id order: one JSON object that Upsert's parser reads back. It holds no
// transaction while fn runs. A *LeftOut comes after all that is sound.
func (lg *Log) Export(p auth.Principal, k *record.Kind, fn func(json []byte) error) error {
	if err := p.CheckWhole(); err != nil {
		return err
	}
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
		default:
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

func (e *exportPages) record(v *table.View, id record.ID) ([]byte, error) {
	st, err := v.Load(e.kind, id)
	if err == nil && st == nil {
		err = fmt.Errorf("%w: kind %s lacks a listed record", engine.ErrCorrupt, e.kind.Name)
	}
	if err != nil {
		return nil, err
	}
	r, err := entry.MakeReply(v, record.Admin, e.kind, st)
	return r.JSON, err
}
