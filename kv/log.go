package kv

import (
	"encoding/binary"

	"doorward/kv/record"
)

// Change is one row of the change log: the latest change of one record.
type Change struct {
	Seq      uint64
	Kind     *record.Kind
	ID       record.ID
	Revision record.Revision
	Deleted  bool
	Branched bool // its tree has further leaves
}

// Seq is the sequence of the latest change.
func (s *Store) Seq() uint64 { return s.seq.Load() }

// Changes reads the log after a sequence, oldest first, at most limit rows. The log speaks of every record, so it is for
// denomination level.
func (s *Store) Changes(p Principal, since uint64, limit int) (changes []Change, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	err = s.view(func(v *sight) error {
		return v.scan(logBucket, nil, seqKey(since+1), func(key, row []byte) (bool, error) {
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

// Export calls fn with every record of a kind in id order: one JSON object that Upsert's parser reads back. It holds no
// transaction while fn runs.
func (s *Store) Export(p Principal, k *record.Kind, fn func(json []byte) error) error {
	if err := p.CheckWhole(); err != nil {
		return err
	}
	if err := p.checkKind(record.Admin, k, "GET"); err != nil {
		return err
	}
	var last record.ID
	for {
		var page [][]byte
		err := s.view(func(v *sight) error {
			v.reader = p
			all := v.lists.kind(k).all
			for _, id := range all.page(nil, all.rank(last), exportPage+1) {
				if id == last {
					continue
				}
				st, err := v.load(k, id)
				if err != nil {
					return err
				}
				r, err := v.reply(record.Admin, k, st)
				if err != nil {
					return err
				}
				page, last = append(page, r.JSON), id
			}
			return nil
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, json := range page {
			if err := fn(json); err != nil {
				return err
			}
		}
	}
}
