package kv

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"runtime"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// Report is what Verify found.
type Report struct {
	Rows    int      // values read
	Records int      // live records
	Damage  []string // one sentence each, without any record's content; at most 100
	Damaged int      // all of them
	Places  []Damage // those of Damage that are a place in the file
}

func (r *Report) damage(d Damage) {
	if r.Damaged++; r.Damaged <= maxDamage {
		r.Damage, r.Places = append(r.Damage, d.String()), append(r.Places, d)
	}
}

// add adds what was found elsewhere.
func (r *Report) add(o Report) {
	r.Rows, r.Records, r.Damaged = r.Rows+o.Rows, r.Records+o.Records, r.Damaged+o.Damaged
	r.Damage = append(r.Damage, o.Damage[:min(len(o.Damage), maxDamage-len(r.Damage))]...)
	r.Places = append(r.Places, o.Places[:min(len(o.Places), maxDamage-len(r.Places))]...)
}

// Verify reads the whole store: every checksum, every record against its lookups, its tree and its rows in the
// logs and back, and what free databases hold. progress, if not nil, is told now and then how many of how many rows are done.
//
// First the rows that records must have are summed up against those that are there, on all processors, which is a quarter of the work
// of looking for each of them. That is only done where something is wrong, to say what it is, or that a writer has moved it meanwhile.
//
// What the log has beyond the file is read from the disk too.
func (s *Store) Verify(p Principal, progress func(done, total int)) (Report, error) {
	if err := p.CheckWhole(); err != nil {
		return Report{}, err
	}
	found, err := s.verifyRows(progress)
	if damage := s.engine.CheckLog(); damage != nil {
		found.damage(Damage{Reason: damage.Error()})
	}
	return found, err
}

func (s *Store) verifyRows(progress func(done, total int)) (Report, error) {
	total, err := s.countRows()
	if err != nil {
		return Report{}, err
	}
	seed := maphash.MakeSeed()
	w := &verifier{store: s, progress: progress, total: total, seed: &seed}
	if err := w.all(runtime.GOMAXPROCS(0)); err == nil && w.report.Damaged == 0 && w.left == 0 {
		return w.report, nil
	}
	w = &verifier{store: s, progress: progress, total: total}
	err = w.walk() // here, and not beside: what a broken file does to its reader is the caller's to see
	return w.report, err
}

func (w *walker) row(v *sight, b bucket, key, value []byte) error {
	switch {
	case w.balance != nil && w.balance.counts(b, key, value):
		w.balance.met(b, key, value)
		return nil
	case b == logBucket:
		return verifyLog(v, key, value)
	case b == admissionBucket && key[0] == byDouble:
		return verifyDouble(v, key)
	case b == lookupBucket || b == codeBucket || b == admissionBucket:
		return verifyLookup(v, b, key)
	case b == erasedBucket:
		_, err := parseErased(value)
		return err
	case b >= freeBucket && b <= freeLooseBucket:
		return verifyFree(v, b, key, value)
	case b == opaqueBucket || b == opaqueBodyBucket:
		return verifyOpaque(v, b, key, value)
	case b == leaseBucket:
		return verifyLease(v, key, value)
	case b == twinBucket:
		return verifyTwin(v, key, value)
	case b == formerBucket:
		_, _, err := cutFormer(key)
		return err
	case b == mirrorBucket:
		return verifyMirror(key, value)
	case b == readsBucket:
		_, err := parseReads(key, value)
		return err
	case b >= treeBucket && b <= leftBucket:
		return verifyReplica(v, b, key, value)
	case b >= firstKindBucket:
		k, ok := record.ByNumber(byte(b - firstKindBucket))
		if !ok {
			return nil
		}
		live, err := w.verifyRecord(v, k, key, value)
		if live {
			w.report.Records++
		}
		return err
	}
	return nil
}

// verifyLog checks that a log row speaks of its record's latest change.
func verifyLog(v *sight, key, value []byte) error {
	c, err := parseLog(key, value)
	if err != nil {
		return err
	}
	st, err := v.loadAny(c.Kind, c.ID)
	if err != nil {
		return err
	}
	if st == nil || st.seq != c.Seq || st.revision != c.Revision || st.deleted != c.Deleted || st.branched != c.Branched {
		return fmt.Errorf("row %d is not its record's latest change", c.Seq)
	}
	return nil
}

// verifyRecord checks a record's body, its row in the log, its lookups, and that the lists of this View hold it.
func (w *walker) verifyRecord(v *sight, k *record.Kind, key, value []byte) (live bool, err error) {
	id, ok := k.KeyID(key)
	st := &stored{id: id}
	if err := st.parse(value); err != nil || !ok {
		return false, fmt.Errorf("unreadable row: %w", ErrCorrupt)
	}
	if w.balance != nil {
		w.balance.wantLogs(k, st)
	} else if err := verifyLogs(v, k, st); err != nil {
		return !st.deleted, err
	}
	if listed := v.lists.kind(k).all.contains(id); listed == st.deleted {
		return !st.deleted, fmt.Errorf("record %s is listed wrongly", k.FormatID(id))
	}
	if err := verifyTree(v, k, st); err != nil {
		return !st.deleted, err
	}
	if st.deleted {
		return false, nil
	}
	d, err := st.decode(k)
	if err != nil {
		return true, err
	}
	if st.version == k.Version && !st.foreign && rev.Next(st.before(), false, d.Canonical()) != st.revision {
		return true, fmt.Errorf("record %s does not hash to its revision", k.FormatID(id))
	}
	for _, want := range ownRows(k, st, d) {
		if w.balance != nil {
			w.balance.want(want.bucket, want.key, nil)
			continue
		}
		if row, err := v.Get(want.bucket, want.key); err != nil || row == nil {
			return true, fmt.Errorf("record %s lacks a lookup row", k.FormatID(id))
		}
	}
	if k == record.Checkin {
		return true, verifyListed(v, st)
	}
	return true, nil
}

// ownRow is a row that a record must have in another bucket.
type ownRow struct {
	bucket bucket
	key    []byte
}

func ownRows(k *record.Kind, st *stored, d *record.Doc) (rows []ownRow) {
	for _, key := range lookupKeys(k, st.id, d, st.updatedAt) {
		rows = append(rows, ownRow{lookupBucket, key})
	}
	for _, key := range codeKeys(k, st.id, d) {
		rows = append(rows, ownRow{codeBucket, key})
	}
	for _, key := range admissionKeys(k, st) {
		rows = append(rows, ownRow{admissionBucket, key})
	}
	return rows
}

// verifyLookup checks that the record which a lookup row leads to leads back to it.
func verifyLookup(v *sight, b bucket, key []byte) error {
	k := record.Ticket
	switch b {
	case lookupBucket:
		var ok bool
		if k, ok = record.ByNumber(key[0]); !ok {
			return fmt.Errorf("a row of kind %d: %w", key[0], ErrCorrupt)
		}
	case admissionBucket:
		k = record.Checkin
	}
	if len(key) < k.IDSize() {
		return ErrCorrupt
	}
	id, _ := k.KeyID(key[len(key)-k.IDSize():]) // its length is right
	st, err := v.load(k, id)
	if err != nil {
		return err
	}
	if st != nil {
		d, err := st.decode(k)
		if err != nil {
			return err
		}
		for _, own := range ownRows(k, st, d) {
			if own.bucket == b && bytes.Equal(own.key, key) {
				return nil
			}
		}
	}
	return fmt.Errorf("a row leads to %s %s, which does not lead back", k.Name, k.FormatID(id))
}
