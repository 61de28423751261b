package backup

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime"
	"runtime/debug"
	"sync"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/engine"
	"doorward/kv/laptop"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// Keeper checks, copies and compacts the file.
type Keeper struct {
	tables *table.Set
}

// New makes the keeper of a store's file.
func New(t *table.Set) *Keeper { return &Keeper{tables: t} }

// Report is what Verify found.
type Report struct {
	Rows    int            `json:"rows"`             // values read
	Records int            `json:"records"`          // live records
	Damaged int            `json:"damaged"`          // how many faults there are
	Damage  []string       `json:"damage"`           // one sentence a fault, without any record's content; at most 100
	Places  []table.Damage `json:"places,omitempty"` // where the faults of Damage are
}

// AddDamage adds a fault.
func (r *Report) AddDamage(d table.Damage) {
	if r.Damaged++; r.Damaged <= table.MaxDamage {
		r.Damage, r.Places = append(r.Damage, d.String()), append(r.Places, d)
	}
}

// add adds another report.
func (r *Report) add(o Report) {
	r.Rows, r.Records, r.Damaged = r.Rows+o.Rows, r.Records+o.Records, r.Damaged+o.Damaged
	r.Damage = append(r.Damage, o.Damage[:min(len(o.Damage), table.MaxDamage-len(r.Damage))]...)
	r.Places = append(r.Places, o.Places[:min(len(o.Places), table.MaxDamage-len(r.Places))]...)
}

// Verify reads the whole store. It checks every checksum, every record against its lookups, its tree and its rows in the logs, each of
// these rows against its record, and free databases. It calls progress, if not nil, from time to time with the number of rows that are done.
//
// It first balances the rows that records must have with those that exist, on all processors. This takes a quarter of the time of a lookup
// for each row. If the balance is not zero, a row is wrong, or a writer has moved it since: then a second walk looks up each row.
//
// Verify also reads the log's records that are not in the file yet.
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
	err = w.walk() // in this goroutine, so that the caller sees the fault that a broken file causes
	return w.report, err
}

// row checks one row by the rule of its bucket.
func (w *walker) row(v *table.View, b engine.Bucket, key, value []byte) error {
	if w.balance != nil && w.balance.counts(b, key, value) {
		w.balance.met(b, key, value)
		return nil
	}
	if b < table.FirstKindBucket {
		if rule := rules[b]; rule != nil {
			return rule(v, b, key, value)
		}
		return nil
	}
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

// rules check the rows of the buckets that are no kind's. A bucket without a rule has rows that nothing must agree with.
var rules = [table.FirstKindBucket]func(v *table.View, b engine.Bucket, key, value []byte) error{
	table.LogBucket: verifyLog, table.LookupBucket: verifyLookup, table.CodeBucket: verifyLookup, table.AdmissionBucket: verifyLookup,
	table.FreeBucket: docs.VerifyFree, table.FreeDocBucket: docs.VerifyFree, table.FreeBodyBucket: docs.VerifyFree,
	table.FreeLogBucket: docs.VerifyFree, table.FreeLocalBucket: docs.VerifyFree, table.FreeBlobBucket: docs.VerifyFree,
	table.FreeChunkBucket: docs.VerifyFree, table.FreeRefBucket: docs.VerifyFree, table.FreeLooseBucket: docs.VerifyFree,
	table.OpaqueBucket: docs.VerifyOpaque, table.OpaqueBodyBucket: docs.VerifyOpaque,
	table.TreeBucket: verifyReplica, table.BodyBucket: verifyReplica, table.LeftBucket: verifyReplica, table.ScopeLogBucket: verifyScopeRow,
	table.LeaseBucket: verifyLease,
	table.MergedBucket: func(v *table.View, _ engine.Bucket, key, value []byte) error {
		return merge.VerifyMerged(v, key, value)
	},
	table.MirrorBucket: func(_ *table.View, _ engine.Bucket, key, value []byte) error { return laptop.VerifyMirror(key, value) },
	table.ErasedBucket: func(_ *table.View, _ engine.Bucket, key, value []byte) error {
		_, err := table.ParseErased(key, value)
		return err
	},
	table.ReadsBucket: func(_ *table.View, _ engine.Bucket, key, value []byte) error {
		_, err := table.ParseReads(key, value)
		return err
	},
}

// verifyLog checks that a log row speaks of its record's latest change.
func verifyLog(v *table.View, _ engine.Bucket, key, value []byte) error {
	c, err := table.ParseLog(key, value)
	if err != nil {
		return err
	}
	st, err := v.LoadAny(c.Kind, c.ID)
	if err != nil {
		return err
	}
	if !isLatest(st, &c) {
		return fmt.Errorf("row %d is not its record's latest change", c.Seq)
	}
	return nil
}

// isLatest tells whether a row of a log is the latest change of a record; nil = there is no record.
func isLatest(st *table.Stored, c *table.Change) bool {
	return st != nil && st.Seq == c.Seq && st.Revision == c.Revision && st.Deleted == c.Deleted && st.Branched == c.Branched
}

// verifyRecord checks a record's body, its row in the log, its lookups, and that the lists of this View hold it.
func (w *walker) verifyRecord(v *table.View, k *record.Kind, key, value []byte) (live bool, err error) {
	id, ok := k.KeyID(key)
	st := &table.Stored{ID: id}
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
	if isMisnamed(k, st, d, st.Before()) {
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
		return true, admission.VerifyListed(v, st)
	}
	return true, nil
}

// isMisnamed tells whether this server has made a revision whose id does not follow from its body and the revision before.
func isMisnamed(k *record.Kind, st *table.Stored, d *record.Doc, before rev.ID) bool {
	return st.Version == k.Version && !st.Foreign && d.Revision(before) != st.Revision
}

// ownRow is a row that a record must have in another bucket.
type ownRow struct {
	bucket engine.Bucket
	key    []byte
}

func ownRows(k *record.Kind, st *table.Stored, d *record.Doc) (rows []ownRow) {
	for _, key := range table.LookupKeys(k, st.ID, d, st.UpdatedAt) {
		rows = append(rows, ownRow{table.LookupBucket, key})
	}
	for _, key := range table.CodeKeys(k, st.ID, d) {
		rows = append(rows, ownRow{table.CodeBucket, key})
	}
	for _, key := range admission.Keys(k, st) {
		rows = append(rows, ownRow{table.AdmissionBucket, key})
	}
	return rows
}

// verifyLookup checks that the record of a lookup row has this row among its own. A row of a double entry has a rule of its own.
func verifyLookup(v *table.View, b engine.Bucket, key, _ []byte) error {
	k := record.Ticket
	switch b {
	case table.LookupBucket:
		var ok bool
		if k, ok = record.ByNumber(key[0]); !ok {
			return fmt.Errorf("a row of kind %d: %w", key[0], engine.ErrCorrupt)
		}
	case table.AdmissionBucket:
		if key[0] == table.ByDouble {
			return admission.VerifyDouble(v, key)
		}
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

// balance compares the rows that records must have in other buckets with those that exist, without a lookup. Each row is a number, by its
// hash: a record that must have the row adds it, and the row itself subtracts it. The sum is zero if exactly the right rows exist; a wrong
// row leaves another sum, except once in 2^64 times.
type balance struct {
	hash maphash.Hash
	left uint64
	log  []byte // reused
	key  []byte // reused
}

// counts tells whether the balance checks a row: it is a row that a record must have.
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

// want adds a row that must exist.
func (a *balance) want(b engine.Bucket, key, value []byte) { a.left += a.number(b, key, value) }

// met subtracts a row that exists.
func (a *balance) met(b engine.Bucket, key, value []byte) { a.left -= a.number(b, key, value) }

// wantLogs adds the rows that a record must have in the log and in the logs of its scopes.
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

// number returns the hash of a row. It needs no mark between key and value: the keys of a bucket have one length or say it, or the rows have
// no value.
func (a *balance) number(b engine.Bucket, key, value []byte) uint64 {
	a.hash.Reset()
	_ = a.hash.WriteByte(byte(b)) // it never fails
	_, _ = a.hash.Write(key)
	_, _ = a.hash.Write(value)
	return a.hash.Sum64()
}

// verifyPage is how many rows Verify reads in one View.
const verifyPage = 2000

// verifier walks the store bucket by bucket, in pages, so that it holds no View for long. Each page judges its rows against the
// state of its own View. A writer may move rows between two pages; they are right in each state.
type verifier struct {
	store    *Keeper
	progress func(done, total int)
	seed     *maphash.Seed // of the balances; nil = the walk looks up each row
	total    int           // rows

	mu     sync.Mutex    // guards what is below
	due    engine.Bucket // the next page's
	from   []byte        // its first key
	report Report
	left   uint64 // of all pages' balances
}

// walker checks one page.
type walker struct {
	report  Report
	balance *balance // nil = the walk looks up each row
}

// all walks the store with several goroutines. A fault that a broken file causes is an error.
func (w *verifier) all(walkers int) error {
	errs := make([]error, walkers)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() {
				if v := recover(); v != nil {
					errs[i] = fmt.Errorf("panic: %v", v)
				}
			}()
			errs[i] = w.walk()
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// walk checks pages until there are no more.
func (w *verifier) walk() error {
	for more := true; more; {
		err := w.store.tables.View(func(v *table.View) error {
			v.Bare = true
			b, page := w.next(v)
			at := w.newWalker()
			for _, row := range page {
				at.check(v, b, &row)
			}
			w.note(at)
			more = len(page) > 0
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *verifier) newWalker() *walker {
	if w.seed == nil {
		return &walker{}
	}
	at := &walker{balance: &balance{}}
	at.balance.hash.SetSeed(*w.seed) // balances of one seed can be added
	return at
}

// countRows returns how many rows the store has.
func (kp *Keeper) countRows() (total int, err error) {
	err = kp.tables.View(func(v *table.View) error {
		for b := range engine.NumBuckets {
			if table.Schema[b].Name != "" {
				total += v.Count(engine.Bucket(b))
			}
		}
		return nil
	})
	return total, err
}

// next returns the rows of the next page, as they are in this View; none at the end.
func (w *verifier) next(v *table.View) (b engine.Bucket, page []engine.Row) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; w.due < engine.NumBuckets && len(page) == 0; w.due++ {
		if b = w.due; table.Schema[b].Name == "" {
			continue
		}
		c := v.Cursor(b)
		for row := c.Seek(w.from); row.Key != nil; row = c.Next() {
			if len(page) == verifyPage {
				w.from = bytes.Clone(row.Key)
				return b, page
			}
			page = append(page, *row)
		}
		w.from = nil
	}
	return b, page
}

// note adds what was found in a page.
func (w *verifier) note(at *walker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.add(at.report)
	if at.balance != nil {
		w.left += at.balance.left
	}
	if w.progress != nil {
		w.progress(w.report.Rows, max(w.total, w.report.Rows))
	}
}

// check reads a row's value and checks the row.
func (w *walker) check(v *table.View, b engine.Bucket, row *engine.Row) {
	w.report.Rows++
	value, err := row.Value()
	if err != nil {
		w.report.AddDamage(table.DamagedRow(b, row.Key))
		return
	}
	if err := w.row(v, b, row.Key, value); err != nil {
		w.report.AddDamage(table.Damage{Bucket: string(table.Schema[b].Name), Row: table.RowName(b, row.Key), Reason: err.Error()})
	}
}
