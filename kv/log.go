package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// Change is one row of the change log: the latest change of one record.
type Change struct {
	Seq      uint64
	Kind     *record.Kind
	ID       record.ID
	Revision rev.ID
	Deleted  bool
	Branched bool // its tree has further leaves
}

// Seq is the sequence of the latest change.
func (s *tables) Seq() uint64 { return s.seq.Load() }

// Changes reads the log after a sequence, oldest first, at most limit rows. The log speaks of every record, so it is for
// denomination level.
func (s *Store) Changes(p Principal, since uint64, limit int) (changes []Change, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	err = s.view(func(v *sight) error {
		return v.Scan(logBucket, nil, seqKey(since+1), func(key, row []byte) (bool, error) {
			if len(changes) >= limit {
				return false, nil
			}
			c, err := parseLog(key, row)
			changes = append(changes, c)
			return true, err
		})
	})
	return changes, err
}

func parseLog(key, row []byte) (Change, error) {
	if len(key) != 8 {
		return Change{}, ErrCorrupt
	}
	c, _, err := parseLogRow(binary.BigEndian.Uint64(key), row)
	return c, err
}

// parseLogRow reads a row of any log.
func parseLogRow(seq uint64, row []byte) (ch Change, removed bool, err error) {
	c := cutter{rest: row}
	k, ok := record.ByNumber(c.byte())
	if !ok {
		return Change{}, false, ErrCorrupt
	}
	set := c.byte()
	ch = Change{Seq: seq, Kind: k, Deleted: set&rowDeleted != 0, Branched: set&rowBranched != 0}
	ch.ID, ok = k.KeyID(c.bytes(k.IDSize()))
	ch.Revision.Generation = c.uvarint()
	copy(ch.Revision.Hash[:], c.bytes(16))
	if c.short || !ok {
		return Change{}, false, ErrCorrupt
	}
	return ch, set&rowRemoved != 0, nil
}

// exportPage is how many records Export copies out of one View.
const exportPage = 200

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
func (l *LeftOut) Is(target error) bool { return target == ErrCorrupt }

// Add adds what was left out of another kind.
func (l *LeftOut) Add(o *LeftOut) {
	l.Count += o.Count
	l.Records = append(l.Records, o.Records[:min(len(o.Records), maxDamage-len(l.Records))]...)
}

// Export calls fn with every record of a kind in id order: one JSON object that Upsert's parser reads back. It holds no
// transaction while fn runs. A *LeftOut comes after all that is sound.
func (s *Store) Export(p Principal, k *record.Kind, fn func(json []byte) error) error {
	if err := p.CheckWhole(); err != nil {
		return err
	}
	if err := p.CheckKind(record.Admin, k, "GET"); err != nil {
		return err
	}
	e := &exportPages{reader: p, kind: k}
	for more := true; more; {
		var page [][]byte
		err := s.view(func(v *sight) (err error) {
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
	reader Principal
	kind   *record.Kind
	last   record.ID // of the page before
	out    LeftOut
}

// next answers a page of what is sound; more tells that there may be another.
func (e *exportPages) next(v *sight) (page [][]byte, more bool, err error) {
	v.reader = e.reader
	all := v.lists.kind(e.kind).all
	for _, id := range all.page(nil, all.rank(e.last), exportPage+1) {
		if id == e.last {
			continue
		}
		json, err := e.record(v, id)
		switch {
		case errors.Is(err, ErrCorrupt):
			v.store.noteCorrupt(err)
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
func (e *exportPages) lost(v *sight, id record.ID) string {
	name := e.kind.Name + " " + e.kind.FormatID(id)
	if st, err := v.load(e.kind, id); err == nil && st != nil {
		return name + " for another record of it"
	}
	return fmt.Sprintf("%s of bucket %s", name, schema[kindBucket(e.kind)].Name)
}

func (e *exportPages) record(v *sight, id record.ID) ([]byte, error) {
	st, err := v.load(e.kind, id)
	if err == nil && st == nil {
		err = fmt.Errorf("%w: kind %s lacks a listed record", ErrCorrupt, e.kind.Name)
	}
	if err != nil {
		return nil, err
	}
	r, err := reply(v, record.Admin, e.kind, st)
	return r.JSON, err
}
