package kv

import (
	"bytes"
	"context"
	"errors"
	"os"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"go.etcd.io/bbolt"

	"doorward/kv/admission"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/laptop"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Hold stops the writer inside an operation until release is called, so that what is handed in meanwhile makes one group.
func Hold(s *Store) (release func()) {
	started, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Tables.Do(func(*table.Tx) error { // no door, beside which a group is closed after a while
			close(started)
			<-end
			return nil
		})
	}()
	<-started
	return func() {
		close(end)
		<-ended
	}
}

// HoldAfter changes a ticket and stops the writer in the same operation until release is called.
func HoldAfter(s *Store, id record.ID, patch *record.Patch) (release func() error) {
	started, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.Tables.Do(func(o *table.Tx) error {
			before, err := entry.Find(o.View, auth.Operator(), record.Ticket, id)
			if err == nil {
				_, err = desk.Update(o, auth.Operator(), record.Ticket, before, entry.Prepare(s.Tables, patch))
			}
			close(started)
			<-end
			return err
		})
	}()
	<-started
	return func() error {
		close(end)
		return <-ended
	}
}

// CheckInAfter is CheckIn, and something else between what it does before the writer's turn and that turn.
func CheckInAfter(s *Store, p auth.Principal, a door.Attempt, between func()) (door.Decision, error) {
	at := s.Door.Ready(p, a)
	between()
	return s.Door.Decide(at)
}

// Waiting is how many jobs wait for the writer.
func Waiting(s *Store) int { return s.Tables.Engine.Figures().Waiting }

// ErrDeliberate is what FailAfter answers.
var ErrDeliberate = errors.New("deliberate")

// FailAfter makes a record and then fails, or panics, in the same operation.
func FailAfter(s *Store, patch *record.Patch, panics bool) error {
	return s.Tables.Do(func(o *table.Tx) error {
		if _, err := force(o, patch.Kind, record.ID{}, patch); err != nil {
			return err
		}
		if panics {
			panic("deliberate")
		}
		return ErrDeliberate
	})
}

// Force makes a record under an id without telling the counter of ids, as what comes from a replica does.
func Force(s *Store, patch *record.Patch, id int64) error {
	return s.Tables.Do(func(o *table.Tx) error {
		_, err := force(o, patch.Kind, record.Int(id), patch)
		return err
	})
}

// force makes a record of a patch, under the next free id where none is given, without any of the checks.
func force(o *table.Tx, k *record.Kind, id record.ID, patch *record.Patch) (record.ID, error) {
	if id.IsZero() {
		var err error
		if id, _, err = entry.Vacant(o, k, id); err != nil {
			return id, err
		}
	}
	d := k.NewDoc()
	d.Apply(patch)
	d.Settle(nil, entry.Moment(o))
	_, err := o.Write(table.Edit{Kind: k, ID: id, Is: d})
	return id, err
}

// Do runs an empty operation, as a door or as bulk, and calls fn inside it.
func Do(s *Store, door bool, fn func()) error {
	run := s.Tables.Do
	if door {
		run = s.Tables.DoAtDoor
	}
	return run(func(*table.Tx) error {
		fn()
		return nil
	})
}

// Growth is by how many bytes the file grows at once.
func Growth(s *Store) int { return boltOf(s).AllocSize }

// Groups is how many groups have been committed.
func Groups(s *Store) uint64 { return s.Tables.Commits.Edits }

// DuplicateTicket makes a ticket past the check that its code is the only one of the event.
func DuplicateTicket(s *Store, form *record.Patch) (id record.ID, err error) {
	in := entry.PrepareNew(s.Tables, auth.Operator(), form)
	err = s.Tables.Do(func(o *table.Tx) error {
		if id, _, err = entry.Vacant(o, record.Ticket, id); err != nil {
			return err
		}
		for _, m := range [...]*table.Made{in.Made.Ticket, in.Made.Code} {
			if _, err := o.Write(table.Edit{Kind: m.Doc.Kind, ID: id, Is: m.Doc, Made: m}); err != nil {
				return err
			}
		}
		if in.Made.Holding == nil {
			return nil
		}
		return entry.AddHolding(o, auth.Operator(), id, in.Made.Holding)
	})
	return id, err
}

// boltOf is the file as bbolt has it, with all that was committed folded into it.
func boltOf(s *Store) *bbolt.DB {
	_ = s.Tables.Engine.Fold()                                                          // a store that has stopped has what it has
	at := reflect.ValueOf(s.Tables.Engine).Elem().FieldByName("state").FieldByName("v") // of an atomic pointer
	state := atomic.LoadPointer((*unsafe.Pointer)(at.Addr().UnsafePointer()))           // the writer may be storing the next one
	return **(***bbolt.DB)(state)                                                       // the first field of engine's state is its file, and the file's is this
}

// BreakFile closes the file under bbolt and the log's: reads go on from the map, the next commit fails.
func BreakFile(s *Store) error {
	file := (*os.File)(reflect.ValueOf(boltOf(s)).Elem().FieldByName("file").UnsafePointer())
	err := file.Close()
	log := reflect.ValueOf(s.Tables.Engine).Elem().FieldByName("journal").Elem().FieldByName("wal") // an atomic pointer
	if p := log.FieldByName("v").UnsafePointer(); p != nil {
		live := reflect.NewAt(log.Type().Field(0).Type.Elem().Elem(), p).Elem().FieldByName("live")
		segment := live.Index(live.Len() - 1).Elem().FieldByName("file")
		err = errors.Join(err, (*os.File)(segment.UnsafePointer()).Close())
	}
	return err
}

// FormatNumber is the format that this version writes.
const FormatNumber = table.FormatNumber

// OldestFormat is the oldest format that this version reads.
const OldestFormat = table.OldestFormat

// HLC is the hybrid clock's last reading.
func HLC(s *Store) (hlc uint64) {
	_ = s.Tables.DoAtDoor(func(o *table.Tx) error {
		hlc = o.State.Hlc
		return nil
	})
	return hlc
}

// AwaitRung waits with a bell that rings after the first look has found nothing yet.
func AwaitRung(ctx context.Context) error {
	var b table.Bell
	rung := false
	return b.Await(ctx, func() bool {
		defer func() { rung = true; b.Ring() }()
		return rung
	})
}

// DoorsWithoutEnd keeps a door waiting whenever the writer looks: each one is followed by the next before it is answered.
func DoorsWithoutEnd(s *Store) (stop func()) {
	var over atomic.Bool
	ended := make(chan struct{})
	var come func()
	come = func() {
		if over.Load() {
			close(ended)
			return
		}
		go func() {
			_ = s.Tables.DoAtDoor(func(o *table.Tx) error {
				o.Put(table.MetaBucket, []byte("door"), nil)
				o.After(func() {
					come()
					for s.Tables.Engine.Figures().Waiting == 0 && !over.Load() {
						runtime.Gosched()
					}
				})
				return nil
			})
		}()
	}
	come()
	return func() {
		over.Store(true)
		<-ended
	}
}

// Rows is how many rows a bucket has.
func Rows(t testing.TB, s *Store, bucket string) (n int) {
	t.Helper()
	err := boltOf(s).View(func(tx *bbolt.Tx) error {
		n = tx.Bucket([]byte(bucket)).Stats().KeyN
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// RowsHolding counts the rows of a bucket whose values hold a text.
func RowsHolding(t testing.TB, s *Store, bucket, text string) (n int) {
	t.Helper()
	err := boltOf(s).View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucket)).ForEach(func(_, value []byte) error {
			if bytes.Contains(value, []byte(text)) {
				n++
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TreeOf is a record's tree.
func TreeOf(t testing.TB, s *Store, k *record.Kind, id int64) (tree rev.Tree) {
	t.Helper()
	return TreeOfID(t, s, k, record.Int(id))
}

// TreeOfID is TreeOf for an id of any sort.
func TreeOfID(t testing.TB, s *Store, k *record.Kind, id record.ID) (tree rev.Tree) {
	t.Helper()
	err := s.Tables.View(func(v *table.View) error {
		st, err := v.LoadAny(k, id)
		if err == nil {
			tree, err = table.LoadTree(v, k, st)
		}
		return err
	})
	if err != nil {
		t.Fatalf("tree of %s %s: %v", k.Name, k.FormatID(id), err)
	}
	return tree
}

// Forget deletes all that is kept of a record besides its row.
func Forget(s *Store, k *record.Kind, id int64) error {
	return s.Tables.Do(func(o *table.Tx) error { return table.Forget(o, k, record.Int(id)) })
}

// SetLeaf makes a store one that has a centre.
func SetLeaf(s *Store) error {
	return s.Laptop.Join(auth.Operator(), table.Upstream{Node: "01J00000000000000000000001"}, office.Credential{Realm: s.Tables.Identity.Realm()})
}

// LimitRefusals sets how many refusals of a key are kept, and how many bytes of them.
func LimitRefusals(s *Store, number, bytes int) {
	s.Tables.Rules.Limits.Refusals.Number, s.Tables.Rules.Limits.Refusals.Bytes = number, bytes
}

// LimitLeases sets how many ranges of ids a key is given.
func LimitLeases(s *Store, number int) { s.Tables.Rules.Limits.Leases.Number = number }

// UnknownMeta is the first key of a store's meta that the look at a damaged file would take for damage; "" = there is none.
func UnknownMeta(t testing.TB, s *Store) (unknown string) {
	t.Helper()
	err := boltOf(s).View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(table.Schema[table.MetaBucket].Name)).ForEach(func(key, _ []byte) error {
			if unknown == "" && !table.IsMetaKey(key) {
				unknown = string(key)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return unknown
}

// ReadsHeld is how many counts of reads are held in memory.
const ReadsHeld = table.ReadsHeld

// LimitReads sets how many there may be of what is read whole.
func LimitReads(s *Store, n int) {
	s.Tables.Rules.Limits.Leaves, s.Tables.Rules.Limits.Checkins, s.Tables.Rules.Limits.Undone, s.Tables.Rules.Limits.Locals = n, n, n, n
}

// AwaitListener returns once somebody waits for a free database's changes.
func AwaitListener(s *Store, name string) {
	for heard(s, name) == nil {
		runtime.Gosched()
	}
}

// Rung tells whether the bell has been rung of those who wait for a free database's changes.
func Rung(s *Store, name string) bool {
	r := heard(s, name)
	if r == nil {
		return true
	}
	select {
	case <-r.Pulled:
		return true
	default:
		return false
	}
}

func heard(s *Store, name string) *table.Rope {
	s.Tables.Commits.Bells.Mu.Lock()
	defer s.Tables.Commits.Bells.Mu.Unlock()
	return s.Tables.Commits.Bells.Ropes[table.FeedName{Free: name}]
}

// Listeners is how many bells there are.
func Listeners(s *Store) int {
	s.Tables.Commits.Bells.Mu.Lock()
	defer s.Tables.Commits.Bells.Mu.Unlock()
	return len(s.Tables.Commits.Bells.Ropes)
}

// The two ways to a canonical document.
var (
	IsCanonical   = merge.IsCanonical
	MakeCanonical = docs.MakeCanonical
)

// Observe meets a stamp of another node's hybrid clock, as replicating a fact of it does.
func Observe(s *Store, stamp uint64) error {
	return s.Tables.Do(func(o *table.Tx) error {
		o.State.Observe(stamp, o.Now)
		o.Put(table.MetaBucket, []byte("observed"), nil) // an operation that writes nothing leaves no trace
		return nil
	})
}

// PutFact stores a fact that another node has made, of members in table order.
func PutFact(s *Store, k *record.Kind, id record.ID, members ...value.Member) error {
	return s.Tables.Do(func(o *table.Tx) error {
		d := record.NewDraft(k)
		for _, m := range members {
			d.Raw(m.Name, m.Value)
		}
		body, canonical := d.Close()
		st := &table.Stored{ID: id, Body: body, Header: table.Header{Version: k.Version, UpdatedAt: o.Stamp, Revision: rev.Next(rev.ID{}, false, canonical)}}
		st.Scopes[0] = scopes.Scope{Sort: scopes.Event, ID: value.Int(body.Member("event_id"))}
		admission.IndexFact(o, k, st)
		table.Place(o, k, nil, st)
		return admission.SettleFact(o, k, st)
	})
}

// IDList is an idList with numbers for ids.
type IDList struct{ l *table.IdList }

// Edit answers a copy that an edit may change.
func (s IDList) Edit(n uint64) IDList { return IDList{s.l.Own(n)} }

func (s IDList) Insert(n int64) { s.l.Insert(record.Int(n)) }

func (s IDList) Remove(n int64) { s.l.Remove(record.Int(n)) }

func (s IDList) Rank(n int64) int { return s.l.Rank(record.Int(n)) }

func (s IDList) Contains(n int64) bool { return s.l.Contains(record.Int(n)) }

func (s IDList) At(i int) int64 { return s.l.At(i).Int() }

func (s IDList) Len() int { return s.l.Len() }

func (s IDList) Page(offset, limit int) (ns []int64) {
	for _, id := range s.l.Page(nil, offset, limit) {
		ns = append(ns, id.Int())
	}
	return ns
}

// PulledSum is the hash that is kept of what was pulled of a record.
func PulledSum(t testing.TB, s *Store, k *record.Kind, id int64) (sum [16]byte) {
	t.Helper()
	err := s.Tables.View(func(v *table.View) error {
		p, err := laptop.LoadPulled(v, k, record.Int(id))
		if err == nil {
			sum = p.Sum
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
