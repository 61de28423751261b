package kv_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/engine"
	"doorward/kv/idempotency"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// TestVerifyFindsNothingInAHealthyStore draws what a store goes through.
func TestVerifyFindsNothingInAHealthyStore(t *testing.T) {
	t.Parallel()
	drawnStore(t, func(t *rapid.T, w world, s *kv.Store) {
		for _, id := range slices.Sorted(maps.Keys(w[record.Ticket])) {
			f := w[record.Ticket][id]
			d, err := s.Door.CheckIn(auth.Operator(), door.Attempt{Event: f["event_id"], Code: fmt.Sprintf("CODE-%d", id), Door: "north", Nonce: "n"})
			if err != nil && !errors.Is(err, table.ErrKeyReused) {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "undo") && d.CheckinID != "" {
				if _, err := s.Door.Undo(auth.Operator(), door.Undoing{Event: f["event_id"], CheckinID: d.CheckinID}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Door.CheckIn(auth.Operator(), door.Attempt{Event: f["event_id"], Code: "nonsense"}); err != nil {
				t.Fatal(err)
			}
		}
		for range 20 {
			w.step(t, s)
		}
		told := 0
		r, err := s.Files.Verify(auth.Operator(), func(done, total int) {
			if told = done; done > total {
				t.Errorf("progress says %d of %d", done, total)
			}
		})
		live := 0
		for _, k := range record.Kinds() {
			page, err := s.Desk.List(auth.Operator(), desk.Query{Surface: record.Admin, Kind: k})
			if err != nil {
				t.Fatal(err)
			}
			live += page.Count
		}
		if err != nil || r.Damaged != 0 || r.Records != live || told != r.Rows {
			t.Errorf("Verify = %+v, %v (told %d rows), want %d records and no damage", r, err, told, live)
		}
	})
}

// TestVerifyNamesWhatIsWrong damages a store in one way at a time, with good checksums where it can.
func TestVerifyNamesWhatIsWrong(t *testing.T) {
	const code = "LULU" // letters that no ULID has
	for _, c := range []harm{
		{"a log row is missing", "no row in the log", func(tx *bbolt.Tx) error { return deleteWhere(tx, "log", is(10)) }},
		{"a log row speaks of an older change", "not its record's latest change", func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte("log"))
			value := bytes.Clone(find(b, is(10)))
			value = value[:len(value)-4]
			value[len(value)-1] ^= 1
			return putWhere(tx, "log", 1, is(10), value)
		}},
		{"a lookup row is missing", "lacks a lookup row", func(tx *bbolt.Tx) error { return deleteWhere(tx, "lookup", is(10)) }},
		{"a lookup row dangles", "does not lead back", func(tx *bbolt.Tx) error {
			key := append([]byte("\x0achurch_id\x00\x80\x00\x00\x00\x00\x00\x00\x07"), key8(1)...)
			return tx.Bucket([]byte("lookup")).Put(key, sealed(2, key, nil))
		}},
		{"a lookup row of a kind there is none of", "kind 200", func(tx *bbolt.Tx) error {
			key := append([]byte("\xc8x\x00"), key8(1)...)
			return tx.Bucket([]byte("lookup")).Put(key, sealed(2, key, nil))
		}},
		{"a code row is missing", "lacks a lookup row", func(tx *bbolt.Tx) error { return deleteWhere(tx, "code", is('e')) }},
		{"an admission row is missing", "lacks a lookup row", func(tx *bbolt.Tx) error { return deleteWhere(tx, "admission", is('t')) }},
		{"an admission without its check-in", "does not lead back", func(tx *bbolt.Tx) error { return deleteWhere(tx, "kind:checkin", func([]byte) bool { return true }) }},
		{"a body does not hash to its revision", "does not hash", func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte("kind:person"))
			value := bytes.Replace(b.Get(key8(1)), []byte("Ana"), []byte("Eva"), 1)
			return putWhere(tx, "kind:person", 42, is(0), value[:len(value)-4])
		}},
		{"a kept answer's bit is turned", "bucket once:", func(tx *bbolt.Tx) error { return flipWhere(tx, "once") }},
		{"a lookup's bit is turned", "bucket lookup:", func(tx *bbolt.Tx) error { return flipWhere(tx, "lookup") }},
		{"a bit of the log is turned", "bucket log:", func(tx *bbolt.Tx) error { return flipWhere(tx, "log") }},
		{"a scope's row is missing", "no row in the log of a scope", func(tx *bbolt.Tx) error { return deleteWhere(tx, "scope_log", is(3)) }},
		{"a scope's row speaks of an older change", "of a scope is not its record's latest", func(tx *bbolt.Tx) error { return bendWhere(tx, "scope_log", 18, is(5)) }},
		{"a scope's row of a record that has left it is missing", "does not say so", func(tx *bbolt.Tx) error { return deleteLeft(tx) }},
		{"a scope says that a record has left, and nothing else does", "says wrongly that its record has left", func(tx *bbolt.Tx) error { return deleteWhere(tx, "left", is(10)) }},
		{"a tree is missing", "keeps the body of 1-", func(tx *bbolt.Tx) error { return deleteWhere(tx, "tree", is(10)) }},
		{"a tree has another winner", "is not what its tree says", func(tx *bbolt.Tx) error { return bendTree(tx) }},
		{"a kept body is missing", "lacks the body of 1-", func(tx *bbolt.Tx) error { return deleteWhere(tx, "body", is(10)) }},
		{"a kept body does not hash to its revision", "a kept body does not hash", func(tx *bbolt.Tx) error {
			value := bytes.Replace(find(tx.Bucket([]byte("body")), everything), []byte("Ana"), []byte("Eva"), 1)
			return putWhere(tx, "body", 17, is(10), value[:len(value)-4])
		}},
		{"a kept body that no tree knows", "was never there", func(tx *bbolt.Tx) error {
			key := append(append([]byte{10}, key8(99)...), make([]byte, 24)...)
			return tx.Bucket([]byte("body")).Put(key, sealed(17, key, []byte{0, 1, 0}))
		}},
		{"a row strays into another bucket", "bucket once_expiry: a value fails", func(tx *bbolt.Tx) error {
			key, value := tx.Bucket([]byte("lookup")).Cursor().First()
			return tx.Bucket([]byte("once_expiry")).Put(bytes.Clone(key), bytes.Clone(value))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t)
			s := reopenable(t, kv.Config{Dir: dir})
			kvtest.Create(t, s, record.Church, `{"name":"A"}`)
			event := newEvent(t, s, "")
			newTicket(t, s, event, code, "")
			once := &idempotency.Request{Key: [32]byte{1}, Body: [32]byte{2}}
			_, err := s.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person, Once: once},
				kvtest.Parse(t, record.Person, `{"full_name":"Ana","church_id":1}`, true))
			if err != nil {
				t.Fatal(err)
			}
			scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: code}, outcome.Admitted)
			kvtest.Create(t, s, record.Church, `{"name":"B"}`)
			patched(t, s, record.Person, kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`), `{"church_id":2}`)
			c.wantFound(t, s, dir, "Ana", code)
		})
	}
}

// harm is done to a store's file behind its back. The sentence that verify says of it has want in it.
type harm struct {
	name, want string
	do         func(tx *bbolt.Tx) error
}

// wantFound does the harm to a sound store, which it closes, and wants verify to find it and to tell nothing of what is stored.
func (h harm) wantFound(t *testing.T, s *kv.Store, dir string, secrets ...string) {
	t.Helper()
	healthy(t, s)
	closed(t, s)
	tampered(t, dir, h.do)
	r, err := kvtest.OpenConfig(t, kv.Config{Dir: dir}).Files.Verify(auth.Operator(), nil)
	all := strings.Join(r.Damage, "\n")
	if err != nil || r.Damaged == 0 || r.Damaged != len(r.Damage) || !strings.Contains(all, h.want) {
		t.Errorf("Verify = %+v, %v, want a sentence with %q", r, err, h.want)
	}
	for _, secret := range secrets {
		if strings.Contains(all, secret) {
			t.Errorf("Verify tells what is stored: %s", all)
		}
	}
}

// is finds keys that begin with a byte; log keys are found by the kind in their value.
func is(first byte) func([]byte) bool { return func(row []byte) bool { return row[0] == first } }

// at is the first row of which the key, or in the log the value, fulfils a condition.
func at(b *bbolt.Bucket, named bool, ok func([]byte) bool) (key, value []byte) {
	c := b.Cursor()
	for key, value = c.First(); key != nil; key, value = c.Next() {
		if named && ok(value) || !named && ok(key) {
			return bytes.Clone(key), value
		}
	}
	return nil, nil
}

func find(b *bbolt.Bucket, ok func([]byte) bool) []byte {
	_, value := at(b, true, ok)
	return value
}

func deleteWhere(tx *bbolt.Tx, bucket string, ok func([]byte) bool) error {
	b := tx.Bucket([]byte(bucket))
	key, _ := at(b, bucket == "log", ok)
	if key == nil {
		return fmt.Errorf("bucket %s has no such row", bucket)
	}
	return b.Delete(key)
}

func putWhere(tx *bbolt.Tx, bucket string, number byte, ok func([]byte) bool, value []byte) error {
	b := tx.Bucket([]byte(bucket))
	key, _ := at(b, bucket == "log", ok)
	return b.Put(key, sealed(number, key, value))
}

func everything([]byte) bool { return true }

// deleteLeft deletes the row of a scope's log by which a record has left.
func deleteLeft(tx *bbolt.Tx) error {
	b := tx.Bucket([]byte("scope_log"))
	key, _ := at(b, true, func(row []byte) bool { return row[1]&4 != 0 })
	return b.Delete(key)
}

// bendWhere turns a bit of the revision that a row ends with.
func bendWhere(tx *bbolt.Tx, bucket string, number byte, ok func([]byte) bool) error {
	key, value := at(tx.Bucket([]byte(bucket)), false, ok)
	value = bytes.Clone(value[:len(value)-4])
	value[len(value)-1] ^= 1
	return tx.Bucket([]byte(bucket)).Put(key, sealed(number, key, value))
}

// bendTree turns a bit of a tree's last revision.
func bendTree(tx *bbolt.Tx) error {
	key, value := at(tx.Bucket([]byte("tree")), false, is(10))
	t, err := rev.ParseTree(value[:len(value)-4])
	if err != nil {
		return err
	}
	last := t.Nodes()[t.Len()-1].Revision
	value = bytes.Clone(value[:len(value)-4])
	value[bytes.Index(value, last.Hash[:])+15] ^= 1
	return tx.Bucket([]byte("tree")).Put(key, sealed(16, key, value))
}

func flipWhere(tx *bbolt.Tx, bucket string) error {
	b := tx.Bucket([]byte(bucket))
	key, value := b.Cursor().Last()
	value = bytes.Clone(value)
	value[len(value)/2] ^= 1
	return b.Put(bytes.Clone(key), value)
}

// TestVerifyDrawnFlips turns one drawn bit of one drawn value: it is always found.
func TestVerifyDrawnFlips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		dir := t.TempDir()
		s := reopenable(t, kv.Config{Dir: dir})
		drawnWorld(r).fill(t, s)
		closed(t, s)
		var turned string
		tampered(t, dir, func(tx *bbolt.Tx) error {
			name := rapid.SampledFrom([]string{"log", "lookup", "code", "admission", "kind:person", "kind:ticket", "kind:event", "kind:holder"}).Draw(r, "bucket")
			b := tx.Bucket([]byte(name))
			keys := [][]byte{}
			_ = b.ForEach(func(key, _ []byte) error { keys = append(keys, bytes.Clone(key)); return nil })
			if len(keys) == 0 {
				return nil
			}
			key := rapid.SampledFrom(keys).Draw(r, "key")
			value := bytes.Clone(b.Get(key))
			value[rapid.IntRange(0, len(value)-1).Draw(r, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(r, "bit")
			turned = name + " " + hex.EncodeToString(key)
			return b.Put(key, value)
		})
		s = reopenable(t, kv.Config{Dir: dir})
		defer closed(t, s)
		report, err := s.Files.Verify(auth.Operator(), nil)
		bucket, _, found := strings.Cut(turned, " ")
		if err != nil || found && !strings.Contains(strings.Join(report.Damage, "\n"), "bucket "+bucket+": a value fails its checksum") {
			r.Errorf("Verify after %s was damaged = %+v, %v", turned, report, err)
		}
	})
}

// TestVerifyReadsEachRowOnce: also of a bucket that has many pages, whoever reads them.
func TestVerifyReadsEachRowOnce(t *testing.T) {
	const people = 4_500 // more than two pages
	s := kvtest.Open(t)
	kvtest.Fill(t, s, record.Person, people, func(i int) string { return fmt.Sprintf(`{"full_name":"Ana %d"}`, i) })
	last := 0
	rep, err := s.Files.Verify(auth.Operator(), func(done, total int) {
		if done < last || done > total {
			t.Errorf("%d rows of %d are done, after %d", done, total, last)
		}
		last = done
	})
	if err != nil || rep.Damaged != 0 || rep.Records != people || rep.Rows != last {
		t.Errorf("Verify = %+v, %v, of %d people; %d rows were told of", rep, err, people, last)
	}
}

// TestAPageThatCannotBeReadIsItsCallersToSee: it ends no process from a goroutine that nobody else could guard. Here it is the middle of a
// long value, which nobody reads before.
func TestAPageThatCannotBeReadIsItsCallersToSee(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, table.Config{Dir: dir})
	kvtest.Create(t, s, record.Event, fmt.Sprintf(`{"name":"Feast","description":%q,"start_datetime":"2026-05-01T12:00:00Z"}`, strings.Repeat("long ", 100_000)))
	closed(t, s) // what is in the file then is in no log
	s = reopenable(t, table.Config{Dir: dir})
	whole, err := os.ReadFile(table.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(table.Path(dir), int64(bytes.Index(whole, []byte("long long"))+250_000)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Verify read pages that are not there")
		}
		if err := os.WriteFile(table.Path(dir), whole, 0o600); err != nil {
			t.Error(err)
		}
		closed(t, s)
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	_, err = s.Files.Verify(auth.Operator(), nil)
	t.Errorf("Verify = %v", err)
}

// replicaNumbers are the numbers of the buckets (kv/table/file.go), which are in every checksum.
var replicaNumbers = map[string]byte{"lease": 20, "opaque": 21, "opaque_body": 22, "twin": 24}

func TestVerifyNamesWhatIsWrongBesideRecords(t *testing.T) {
	t.Parallel()
	put := func(bucket string, key, value []byte) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte(bucket)).Put(key, sealed(replicaNumbers[bucket], key, value))
		}
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	person := record.Person.Number
	change := func(bucket string, change func([]byte) []byte) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			key, value := tx.Bucket([]byte(bucket)).Cursor().First()
			key = bytes.Clone(key)
			return put(bucket, key, change(bytes.Clone(value[:len(value)-4])))(tx)
		}
	}
	for _, c := range []harm{
		{"two leases overlap", "overlap", put("lease", join([]byte{'g', person}, key8(5)), join(key8(9), []byte{1}))},
		{"a lease ends before it begins", "from 90 to 9", put("lease", join([]byte{'g', person}, key8(90)), join(key8(9), []byte{1}))},
		{"a lease of ids that are drawn", "a lease of person ids", put("lease", join([]byte{'g', person}, key8(90)), join(key8(record.FirstDrawn), []byte{1}))},
		{"a lease of ids that are minted here", "are minted here", put("lease", join([]byte{'g', person}, key8(1_000)), join(key8(1_009), []byte{1}))},
		{"a lease of nobody's", "nobody is known", put("lease", join([]byte{'g', person}, key8(90)), key8(91))},
		{"a lease of a kind that is not leased", "of kind 21", put("lease", join([]byte{'g', 21}, key8(1)), join(key8(9), []byte{1}))},
		{"a lease of neither side", "bucket lease:", put("lease", join([]byte{'x', person}, key8(90)), join(key8(91), []byte{1}))},
		{"a lease that is used up", "nothing is left", put("lease", join([]byte{'t', person}, key8(90)), join(key8(91), key8(92)))},
		{"a lease that was never taken", "beyond the last", put("lease", join([]byte{'t', person}, key8(90)), join(key8(91), key8(90)))},
		{"an opaque document without its body", "lacks the body", emptied("opaque_body")},
		{"an opaque body without its document", "that is not there", emptied("opaque")},
		{"an opaque document that says it is deleted", "has no row in the log", change("opaque", func(row []byte) []byte { row[8] ^= 1; return row })},
		{"an opaque document's row in the log is missing", "has no row in the log", func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte("scope_log"))
			key, _ := at(b, true, is(0))
			return b.Delete(key)
		}},
		{"a merged record that was never there", "leads to person 99", put("twin", join([]byte{'i', person}, key8(1), key8(99)), nil)},
		{"a row about a merged record that is cut short", "bucket twin:", put("twin", join([]byte{'k', person}, key8(99)), nil)},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t)
			s := reopenable(t, table.Config{Dir: dir})
			kvtest.Create(t, s, record.Church, `{"name":"A"}`)
			p := enrolled(t, s, "church:1", auth.Venue{})
			for range 2 {
				if _, err := s.Venues.Lease(p, record.Person, 10, s.Tables.Epochs.Present()); err != nil {
					t.Fatal(err)
				}
			}
			for i, doc := range []string{drawnDoc(record.Person, 1), drawnDoc(record.Person, 2), "psalm:0000000000000001"} {
				w := merge.DocWrite{ID: doc, Path: chain("abc"[i : i+1]), Body: []byte(`{"full_name":"Ana","church_id":1,"external_id":"Ana"}`)}
				if err := push(t, opens(t, s, p, "church-1"), w); err != nil {
					t.Fatal(err)
				}
			}
			c.wantFound(t, s, dir, "Ana", "psalm")
		})
	}
}

// TestVerifyReadsEachLease: a range of a kind of which none are leased, one that is out of order, and one that goes beyond what is leased.
func TestVerifyReadsEachLease(t *testing.T) {
	s := kvtest.Open(t)
	person, scan := record.Person.Number, record.Scan.Number
	for name, row := range map[string][2][]byte{
		"a key of nothing":      {{table.LeaseGiven}, table.SeqKey(9)},
		"an end of nothing":     {table.LeaseKey(table.LeaseGiven, record.Person, 5), {1}},
		"a kind without leases": {table.LeaseKey(table.LeaseGiven, record.Scan, 5), table.SeqKey(9)},
		"from nothing":          {table.LeaseKey(table.LeaseGiven, record.Person, 0), table.SeqKey(9)},
		"backwards":             {table.LeaseKey(table.LeaseGiven, record.Person, 5), table.SeqKey(4)},
		"too far":               {table.LeaseKey(table.LeaseGiven, record.Person, 5), table.SeqKey(uint64(record.FirstDrawn))},
		"the last is none":      {{table.LeaseLast, person}, table.SeqKey(0)},
		"the last is too far":   {{table.LeaseLast, person}, table.SeqKey(uint64(record.FirstDrawn))},
		"the last of no kind":   {{table.LeaseLast, scan}, table.SeqKey(9)},
	} {
		for _, there := range []bool{true, false} {
			err := s.Tables.Do(func(o *table.Tx) error {
				if there {
					o.Put(table.LeaseBucket, row[0], row[1])
				} else {
					o.Delete(table.LeaseBucket, row[0])
				}
				return nil
			})
			if r, failed := s.Files.Verify(auth.Operator(), nil); err != nil || failed != nil || (r.Damaged > 0) != there {
				t.Errorf("%s, there %t: Verify = %+v, %v, %v", name, there, r, err, failed)
			}
		}
	}
}

// wrongRow is a row as it should not be; nil: it should not be missing.
type wrongRow struct {
	bucket     engine.Bucket
	key, value []byte
}

// wantSaid changes rows of a store for one check, which names each of some things, and puts back what was there.
func wantSaid(t *testing.T, s *kv.Store, name string, rows []wrongRow, want ...string) {
	t.Helper()
	var were []wrongRow
	put := func(rows []wrongRow) {
		err := s.Tables.Do(func(o *table.Tx) error {
			for _, r := range rows {
				was, err := o.Get(r.bucket, r.key)
				if err != nil {
					return err
				}
				were = append(were, wrongRow{r.bucket, r.key, bytes.Clone(was)})
				if r.value == nil {
					o.Delete(r.bucket, r.key)
				} else {
					o.Put(r.bucket, r.key, r.value)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	put(rows)
	r, err := s.Files.Verify(auth.Operator(), nil)
	for _, want := range want {
		if err != nil || !strings.Contains(strings.Join(r.Damage, "\n"), want) {
			t.Errorf("%s: Verify = %+v, %v, want a sentence with %q", name, r, err, want)
		}
	}
	slices.Reverse(were)
	put(slices.Clone(were))
}

// TestVerifyComparesARecordWithItsRows: with its tree, its kept bodies, and what the scopes say that it is in or has left.
func TestVerifyComparesARecordWithItsRows(t *testing.T) {
	s := kvtest.Open(t)
	for _, name := range []string{"A", "B"} {
		kvtest.Create(t, s, record.Church, `{"name":"`+name+`"}`)
	}
	person := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	patched(t, s, record.Person, person, `{"church_id":2}`)
	id, of := record.Int(person), table.KindBucket(record.Person)
	left, in := scopes.Scope{Sort: scopes.Church, ID: 1}, scopes.Scope{Sort: scopes.Church, ID: 2}
	var st table.Stored
	var row, latest, parted, at, tree []byte
	err := s.Tables.View(func(v *table.View) (err error) {
		get := func(b engine.Bucket, key []byte) (value []byte) {
			if err == nil {
				value, err = v.Get(b, key)
			}
			return bytes.Clone(value)
		}
		row = get(of, key8(uint64(person)))
		if err == nil {
			err = st.Parse(row)
		}
		at = get(table.LeftBucket, table.LeftKey(record.Person, id, left))
		latest = get(table.ScopeLogBucket, table.ScopeSeqKey(nil, in, st.Seq))
		parted = get(table.ScopeLogBucket, append(table.AppendScope(nil, left), at...))
		return err
	})
	if err != nil || len(at) != 8 || latest == nil || parted == nil {
		t.Fatalf("%v; left at %x, %x, latest %x", err, at, parted, latest)
	}
	var deleted rev.Tree
	if _, err := deleted.Graft([]rev.ID{st.Revision, st.Before()}, rev.Node{Deleted: true, Held: true}); err != nil {
		t.Fatal(err)
	}
	tree = deleted.Append(nil)
	flagged := func(flag byte) []byte { return slices.Concat(row[:2], []byte{row[2] ^ flag}, row[3:]) }
	stray := bytes.Clone(row)
	stray[bytes.Index(row, st.Parent[:])] ^= 1
	treeKey, leftKey, inLeft := table.TreeKey(record.Person, id), table.LeftKey(record.Person, id, left), table.LeftKey(record.Person, id, in)
	log := func(s scopes.Scope, seq uint64) []byte { return table.ScopeSeqKey(nil, s, seq) }
	const wrongly, silent = "says wrongly that its record has left", "whose log does not say so"
	for _, c := range []struct {
		name string
		rows []wrongRow
		want []string
	}{
		{"a key that is no id", []wrongRow{{of, key8(1)[:7], row}}, []string{"unreadable row"}},
		{"a deleted record in the lists", []wrongRow{{of, key8(uint64(person)), flagged(1)}}, []string{"is listed wrongly"}},
		{"a tree that is deleted", []wrongRow{{table.TreeBucket, treeKey, tree}}, []string{"is not what its tree says"}},
		{"another parent", []wrongRow{{of, key8(uint64(person)), stray}}, []string{"is not what its tree says"}},
		{"branches that are none", []wrongRow{{of, key8(uint64(person)), flagged(2)}}, []string{"says wrongly whether its tree has branches"}},
		{"a kept body of no revision", []wrongRow{{table.BodyBucket, append(slices.Clone(treeKey), key8(1)...), []byte{0, 1, 0}}}, []string{"bucket body:"}},
		{"a key beyond a sequence", []wrongRow{{table.ScopeLogBucket, append(log(in, st.Seq), 0), latest}}, []string{"bucket scope_log:"}},
		{"no record has left", []wrongRow{{table.ScopeLogBucket, log(left, 900), bytes.Replace(parted, key8(uint64(person)), key8(99), 1)}}, []string{wrongly}},
		{"it has left, and is there", []wrongRow{{table.ScopeLogBucket, log(in, 900), parted}, {table.LeftBucket, inLeft, key8(900)}}, []string{wrongly, silent}},
		{"it left at no sequence", []wrongRow{{table.LeftBucket, leftKey, append(slices.Clone(at), 0)}}, []string{wrongly, "bucket left:"}},
		{"it left at another", []wrongRow{{table.LeftBucket, leftKey, key8(900)}}, []string{wrongly, silent}},
		{"it left no scope", []wrongRow{{table.LeftBucket, append(slices.Clone(leftKey), 0), at}}, []string{"bucket left:"}},
		{"its latest change elsewhere", []wrongRow{{table.ScopeLogBucket, log(left, st.Seq), latest}}, []string{"of a scope is not its record's latest"}},
		{"a code of no ticket", []wrongRow{{table.CodeBucket, []byte{1}, []byte{}}}, []string{"bucket code:"}},
	} {
		wantSaid(t, s, c.name, c.rows, c.want...)
	}
	healthy(t, s)
}

// TestVerifyReadsEachTakenLease: what is left of it lies in it, the last id that was taken covers it, and no other overlaps it.
func TestVerifyReadsEachTakenLease(t *testing.T) {
	s := kvtest.Open(t)
	b, last := table.LeaseBucket, []byte{table.LeaseLast, record.Person.Number}
	taken := func(from uint64) []byte { return append([]byte{table.LeaseTaken, record.Person.Number}, key8(from)...) }
	ids := func(to, next uint64) []byte { return append(key8(to), key8(next)...) }
	const used, beyond = "nothing is left", "beyond the last"
	for name, c := range map[string]struct {
		change []wrongRow
		want   string
	}{
		"a key that is too long":    {[]wrongRow{{b, append(taken(5), 0), ids(9, 7)}}, "bucket lease:"},
		"a row that is too long":    {[]wrongRow{{b, taken(5), append(ids(9, 7), 0)}}, used},
		"the next is before it":     {[]wrongRow{{b, taken(5), ids(9, 4)}}, used},
		"the next is beyond it":     {[]wrongRow{{b, taken(5), ids(9, 10)}}, used},
		"the last is within it":     {[]wrongRow{{b, last, key8(8)}}, beyond},
		"no last":                   {[]wrongRow{{b, last, nil}}, beyond},
		"a last that is no number":  {[]wrongRow{{b, last, append(key8(9), 0)}}, beyond},
		"another begins at its end": {[]wrongRow{{b, taken(9), ids(9, 9)}}, "overlap at 9"},
		"one before it has no end":  {[]wrongRow{{b, taken(4), []byte{1}}}, "overlap at 5"},
	} {
		wantSaid(t, s, name, append([]wrongRow{{b, last, key8(9)}, {b, taken(5), ids(9, 7)}}, c.change...), c.want)
	}
	wantSaid(t, s, "a sound one", []wrongRow{{b, last, key8(9)}, {b, taken(5), ids(9, 7)}})
	healthy(t, s)
}
