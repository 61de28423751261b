package backup

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"runtime"

	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/engine"
	"doorward/kv/inbox"
	"doorward/kv/laptop"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// Keeper checks, copies and compacts the file.
type Keeper struct {
	tables *table.Set
	inbox  *inbox.Box
}

func New(t *table.Set, inbox *inbox.Box) *Keeper { return &Keeper{tables: t, inbox: inbox} }

// Report is what Verify found.
type Report struct {
	Rows    int            // values read
	Records int            // live records
	Damage  []string       // one sentence each, without any record's content; at most 100
	Damaged int            // all of them
	Places  []table.Damage // those of Damage that are a place in the file
}

func (r *Report) AddDamage(d table.Damage) {
	if r.Damaged++; r.Damaged <= table.MaxDamage {
		r.Damage, r.Places = append(r.Damage, d.String()), append(r.Places, d)
	}
}

// add adds what was found elsewhere.
func (r *Report) add(o Report) {
	r.Rows, r.Records, r.Damaged = r.Rows+o.Rows, r.Records+o.Records, r.Damaged+o.Damaged
	r.Damage = append(r.Damage, o.Damage[:min(len(o.Damage), table.MaxDamage-len(r.Damage))]...)
	r.Places = append(r.Places, o.Places[:min(len(o.Places), table.MaxDamage-len(r.Places))]...)
}

// Verify reads the whole store: every checksum, every record against its lookups, its tree and its rows in the
// logs and back, and what free databases hold. progress, if not nil, is told now and then how many of how many rows are done.
//
// First the rows that records must have are summed up against those that are there, on all processors, which is a quarter of the work
// of looking for each of them. That is only done where something is wrong, to say what it is, or that a writer has moved it meanwhile.
//
// What the log has beyond the file is read from the disk too.
func (kp *Keeper) Verify(p auth.Principal, progress func(done, total int)) (Report, error) {
	if err := p.CheckWhole(); err != nil {
		return Report{}, err
	}
	found, err := kp.verifyRows(progress)
	if damage := kp.tables.Engine.CheckLog(); damage != nil {
		found.AddDamage(table.Damage{Reason: damage.Error()})
	}
	return found, err
}

func (kp *Keeper) verifyRows(progress func(done, total int)) (Report, error) {
	total, err := kp.countRows()
	if err != nil {
		return Report{}, err
	}
	seed := maphash.MakeSeed()
	w := &verifier{store: kp, progress: progress, total: total, seed: &seed}
	if err := w.all(runtime.GOMAXPROCS(0)); err == nil && w.report.Damaged == 0 && w.left == 0 {
		return w.report, nil
	}
	w = &verifier{store: kp, progress: progress, total: total}
	err = w.walk() // here, and not beside: what a broken file does to its reader is the caller's to see
	return w.report, err
}

func (w *walker) row(v *table.View, b engine.Bucket, key, value []byte) error {
	switch {
	case w.balance != nil && w.balance.counts(b, key, value):
		w.balance.met(b, key, value)
		return nil
	case b == table.LogBucket:
		return verifyLog(v, key, value)
	case b == table.AdmissionBucket && key[0] == table.ByDouble:
		return door.VerifyDouble(v, key)
	case b == table.LookupBucket || b == table.CodeBucket || b == table.AdmissionBucket:
		return verifyLookup(v, b, key)
	case b == table.ErasedBucket:
		_, err := table.ParseErased(value)
		return err
	case b >= table.FreeBucket && b <= table.FreeLooseBucket:
		return docs.VerifyFree(v, b, key, value)
	case b == table.OpaqueBucket || b == table.OpaqueBodyBucket:
		return docs.VerifyOpaque(v, b, key, value)
	case b == table.LeaseBucket:
		return verifyLease(v, key, value)
	case b == table.TwinBucket:
		return merge.VerifyTwin(v, key, value)
	case b == table.FormerBucket:
		_, _, err := merge.CutFormer(key)
		return err
	case b == table.MirrorBucket:
		return laptop.VerifyMirror(key, value)
	case b == table.ReadsBucket:
		_, err := table.ParseReads(key, value)
		return err
	case b >= table.TreeBucket && b <= table.LeftBucket:
		return verifyReplica(v, b, key, value)
	case b >= table.FirstKindBucket:
		k, ok := record.ByNumber(byte(b - table.FirstKindBucket))
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
func verifyLog(v *table.View, key, value []byte) error {
	c, err := table.ParseLog(key, value)
	if err != nil {
		return err
	}
	st, err := v.LoadAny(c.Kind, c.ID)
	if err != nil {
		return err
	}
	if st == nil || st.Seq != c.Seq || st.Revision != c.Revision || st.Deleted != c.Deleted || st.Branched != c.Branched {
		return fmt.Errorf("row %d is not its record's latest change", c.Seq)
	}
	return nil
}

// verifyRecord checks a record's body, its row in the log, its lookups, and that the lists of this View hold it.
func (w *walker) verifyRecord(v *table.View, k *record.Kind, key, value []byte) (live bool, err error) {
	id, ok := k.KeyID(key)
	st := &table.Stored{Id: id}
	if err := st.Parse(value); err != nil || !ok {
		return false, fmt.Errorf("unreadable row: %w", engine.ErrCorrupt)
	}
	if w.balance != nil {
		w.balance.wantLogs(k, st)
	} else if err := verifyLogs(v, k, st); err != nil {
		return !st.Deleted, err
	}
	if listed := v.Lists.Kind(k).All.Contains(id); listed == st.Deleted {
		return !st.Deleted, fmt.Errorf("record %s is listed wrongly", k.FormatID(id))
	}
	if err := verifyTree(v, k, st); err != nil {
		return !st.Deleted, err
	}
	if st.Deleted {
		return false, nil
	}
	d, err := st.Decode(k)
	if err != nil {
		return true, err
	}
	if st.Version == k.Version && !st.Foreign && rev.Next(st.Before(), false, d.Canonical()) != st.Revision {
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
		return true, door.VerifyListed(v, st)
	}
	return true, nil
}

// ownRow is a row that a record must have in another bucket.
type ownRow struct {
	bucket engine.Bucket
	key    []byte
}

func ownRows(k *record.Kind, st *table.Stored, d *record.Doc) (rows []ownRow) {
	for _, key := range table.LookupKeys(k, st.Id, d, st.UpdatedAt) {
		rows = append(rows, ownRow{table.LookupBucket, key})
	}
	for _, key := range table.CodeKeys(k, st.Id, d) {
		rows = append(rows, ownRow{table.CodeBucket, key})
	}
	for _, key := range door.AdmissionKeys(k, st) {
		rows = append(rows, ownRow{table.AdmissionBucket, key})
	}
	return rows
}

// verifyLookup checks that the record which a lookup row leads to leads back to it.
func verifyLookup(v *table.View, b engine.Bucket, key []byte) error {
	k := record.Ticket
	switch b {
	case table.LookupBucket:
		var ok bool
		if k, ok = record.ByNumber(key[0]); !ok {
			return fmt.Errorf("a row of kind %d: %w", key[0], engine.ErrCorrupt)
		}
	case table.AdmissionBucket:
		k = record.Checkin
	}
	if len(key) < k.IDSize() {
		return engine.ErrCorrupt
	}
	id, _ := k.KeyID(key[len(key)-k.IDSize():]) // its length is right
	st, err := v.Load(k, id)
	if err != nil {
		return err
	}
	if st != nil {
		d, err := st.Decode(k)
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

// balance holds the rows that records must have in other buckets against those that are there, without looking for any: each is a number
// drawn by its hash, added where a record wants it and taken off where it is met. Where all are there, and no others, nothing is left;
// else something is, but once in 2^64 times.
type balance struct {
	hash maphash.Hash
	left uint64
	log  []byte // reused
	key  []byte // reused
}

// newBalance makes one. Those that are to be summed up have one seed.
func newBalance(seed maphash.Seed) *balance {
	a := &balance{}
	a.hash.SetSeed(seed)
	return a
}

// counts tells whether a row is one of those that records want, so that nothing else need be known of it.
func (a *balance) counts(b engine.Bucket, key, value []byte) bool {
	switch b {
	case table.LookupBucket, table.CodeBucket, table.LogBucket:
		return true
	case table.AdmissionBucket:
		return key[0] != table.ByDouble
	case table.ScopeLogBucket:
		return len(value) > 1 && value[0] != table.OpaqueKind && value[1]&table.RowRemoved == 0
	}
	return false
}

// want says that a row must be there.
func (a *balance) want(b engine.Bucket, key, value []byte) { a.left += a.number(b, key, value) }

// met says that a row is there.
func (a *balance) met(b engine.Bucket, key, value []byte) { a.left -= a.number(b, key, value) }

// wantLogs says that a record must have its row in the log, and in that of each of its scopes.
func (a *balance) wantLogs(k *record.Kind, st *table.Stored) {
	a.log = table.AppendLog(a.log[:0], k, st, 0)
	a.want(table.LogBucket, table.SeqKey(st.Seq), a.log)
	for _, s := range st.Scopes {
		if s.Sort != 0 {
			a.key = table.ScopeSeqKey(a.key[:0], s, st.Seq)
			a.want(table.ScopeLogBucket, a.key, a.log)
		}
	}
}

// number is what stands for a row. Keys of one length, or that say their own, need nothing between them and their values: others here
// have no value.
func (a *balance) number(b engine.Bucket, key, value []byte) uint64 {
	a.hash.Reset()
	_ = a.hash.WriteByte(byte(b)) // it never fails
	_, _ = a.hash.Write(key)
	_, _ = a.hash.Write(value)
	return a.hash.Sum64()
}
