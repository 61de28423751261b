package kv

import (
	"bytes"
	"fmt"

	"doorward/kv/record"
)

// Report is what Verify found.
type Report struct {
	Rows    int      // values read
	Records int      // live records
	Damage  []string // one sentence each, without any record's content; at most 100
	Damaged int      // all of them
}

const maxDamage = 100

func (r *Report) damage(format string, args ...any) {
	if r.Damaged++; r.Damaged <= maxDamage {
		r.Damage = append(r.Damage, fmt.Sprintf(format, args...))
	}
}

// verifyPage is how many rows Verify reads in one View.
const verifyPage = 2000

// verifier walks the store bucket by bucket, in pages, so that it holds no View for long. Each page judges its rows against
// the state of its own View; rows that a writer moves meanwhile are right in whatever state they are met.
type verifier struct {
	store    *Store
	report   Report
	progress func(done, total int)
	total    int
	balance  *balance // nil = each row is held against what it leads to
}

// Verify reads the whole store: every checksum, every record against its lookups, its tree and its rows in the
// logs and back, and what free databases hold. progress, if not nil, is told now and then how many of how many rows are done.
//
// First the rows that records must have are summed up against those that are there, which takes a quarter of the time. Only where the
// sums differ is each of them looked for, to say which it is, or that a writer has moved it meanwhile.
func (s *Store) Verify(p Principal, progress func(done, total int)) (Report, error) {
	if err := p.CheckWhole(); err != nil {
		return Report{}, err
	}
	w := &verifier{store: s, progress: progress, balance: &balance{}}
	if err := w.all(); err != nil || w.report.Damaged == 0 && w.balance.even() {
		return w.report, err
	}
	w = &verifier{store: s, progress: progress}
	err := w.all()
	return w.report, err
}

// all walks every bucket.
func (w *verifier) all() error {
	if err := w.count(); err != nil {
		return err
	}
	for b := range numBuckets {
		if bucketNames[b] == nil {
			continue
		}
		if err := w.walk(bucket(b)); err != nil {
			return err
		}
	}
	return nil
}

func (w *verifier) count() error {
	return w.store.view(func(v *sight) error {
		for b := range numBuckets {
			if bucketNames[b] != nil {
				w.total += v.in(bucket(b)).Stats().KeyN
			}
		}
		return nil
	})
}

// walk reads one bucket.
func (w *verifier) walk(b bucket) error {
	var next []byte
	for more := true; more; {
		err := w.store.view(func(v *sight) error {
			v.bare = true
			next, more = w.page(v, b, next)
			return nil
		})
		if err != nil {
			return err
		}
		if w.progress != nil {
			w.progress(w.report.Rows, max(w.total, w.report.Rows))
		}
	}
	return nil
}

// page reads some rows from a key on and answers where the next page begins.
func (w *verifier) page(v *sight, b bucket, from []byte) (next []byte, more bool) {
	c := v.in(b).Cursor()
	n := 0
	for key, sealed := c.Seek(from); key != nil; key, sealed = c.Next() {
		if n++; n > verifyPage {
			return bytes.Clone(key), true
		}
		w.report.Rows++
		value, err := unseal(b, key, sealed)
		if err != nil {
			w.report.damage("bucket %s: a value fails its checksum", bucketNames[b])
			continue
		}
		if err := w.row(v, b, key, value); err != nil {
			w.report.damage("bucket %s: %v", bucketNames[b], err)
		}
	}
	return nil, false
}

func (w *verifier) row(v *sight, b bucket, key, value []byte) error {
	switch {
	case w.balance != nil && w.balance.counts(b, key, value):
		w.balance.met(b, key, value)
		return nil
	case b == logBucket:
		return v.verifyLog(key, value)
	case b == admissionBucket && key[0] == byDouble:
		return v.verifyDouble(key)
	case b == lookupBucket || b == codeBucket || b == admissionBucket:
		return v.verifyLookup(b, key)
	case b == erasedBucket:
		_, err := parseErased(value)
		return err
	case b >= freeBucket && b <= freeLooseBucket:
		return v.verifyFree(b, key, value)
	case b == opaqueBucket || b == opaqueBodyBucket:
		return v.verifyOpaque(b, key, value)
	case b == leaseBucket:
		return v.verifyLease(key, value)
	case b == twinBucket:
		return v.verifyTwin(key, value)
	case b == formerBucket:
		_, _, err := cutFormer(key)
		return err
	case b == readsBucket:
		_, err := parseReads(key, value)
		return err
	case b >= treeBucket && b <= leftBucket:
		return v.verifyReplica(b, key, value)
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
func (v *sight) verifyLog(key, value []byte) error {
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
func (w *verifier) verifyRecord(v *sight, k *record.Kind, key, value []byte) (live bool, err error) {
	id, ok := k.KeyID(key)
	st := &stored{id: id}
	if err := st.parse(value); err != nil || !ok {
		return false, fmt.Errorf("unreadable row: %w", ErrCorrupt)
	}
	if w.balance != nil {
		w.balance.wantLogs(k, st)
	} else if err := v.verifyLogs(k, st); err != nil {
		return !st.deleted, err
	}
	if listed := v.lists.kind(k).all.contains(id); listed == st.deleted {
		return !st.deleted, fmt.Errorf("record %s is listed wrongly", k.FormatID(id))
	}
	if err := v.verifyTree(k, st); err != nil {
		return !st.deleted, err
	}
	if st.deleted {
		return false, nil
	}
	d, err := st.decode(k)
	if err != nil {
		return true, err
	}
	if st.version == k.Version && !st.foreign && record.Next(st.before(), false, d.Canonical()) != st.revision {
		return true, fmt.Errorf("record %s does not hash to its revision", k.FormatID(id))
	}
	for _, want := range ownRows(k, st, d) {
		if w.balance != nil {
			w.balance.want(want.bucket, want.key, nil)
			continue
		}
		if row, err := v.get(want.bucket, want.key); err != nil || row == nil {
			return true, fmt.Errorf("record %s lacks a lookup row", k.FormatID(id))
		}
	}
	if k == record.Checkin {
		return true, v.verifyListed(st)
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
func (v *sight) verifyLookup(b bucket, key []byte) error {
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
