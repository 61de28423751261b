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

	"go.etcd.io/bbolt"

	"doorward/kv/codes"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// Hold stops the writer inside an operation until release is called, so that what is handed in meanwhile makes one group.
func Hold(s *Store) (release func()) {
	started, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.do(false, func(*op) error { // no door, beside which a group is closed after a while
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
		ended <- s.do(false, func(o *op) error {
			before, err := find(o.sight, Operator(), record.Ticket, id)
			if err == nil {
				_, err = update(o, Operator(), record.Ticket, before, prepare(s.tables, patch))
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
func CheckInAfter(s *Store, p Principal, a Attempt, between func()) (Decision, error) {
	at := s.ready(p, a)
	between()
	return s.decide(at)
}

// Waiting is how many jobs wait for the writer.
func Waiting(s *Store) int { return s.engine.Waiting() }

// ErrDeliberate is what FailAfter answers.
var ErrDeliberate = errors.New("deliberate")

// FailAfter makes a record and then fails, or panics, in the same operation.
func FailAfter(s *Store, patch *record.Patch, panics bool) error {
	return s.do(false, func(o *op) error {
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
	return s.do(false, func(o *op) error {
		_, err := force(o, patch.Kind, record.Int(id), patch)
		return err
	})
}

// force makes a record of a patch, under the next free id where none is given, without any of the checks.
func force(o *op, k *record.Kind, id record.ID, patch *record.Patch) (record.ID, error) {
	if id.IsZero() {
		var err error
		if id, _, err = vacant(o, k, id); err != nil {
			return id, err
		}
	}
	d := k.NewDoc()
	d.Apply(patch)
	d.Settle(nil, moment(o))
	_, err := o.write(change{kind: k, id: id, is: d})
	return id, err
}

// Do runs an empty operation, as a door or as bulk, and calls fn inside it.
func Do(s *Store, door bool, fn func()) error {
	return s.do(door, func(*op) error {
		fn()
		return nil
	})
}

// Growth is by how many bytes the file grows at once.
func Growth(s *Store) int { return boltOf(s).AllocSize }

// Groups is how many groups have been committed.
func Groups(s *Store) uint64 { return s.commits.edits }

// TwinTicket makes a ticket past the check that its code is the only one of the event.
func TwinTicket(s *Store, form *record.Patch) (id record.ID, err error) {
	ticket, name, holder := record.SplitTicket(form)
	exact, normal := s.hashCode(form.Text("code")), s.hashCode(codes.Normal(form.Text("code")))
	ticket.Set("code_hash", hexText(exact[:]))
	ticket.Set("normal_hash", hexText(normal[:]))
	err = s.do(false, func(o *op) (err error) {
		for i, part := range []*record.Patch{ticket, name, holder} {
			if id, err = force(o, ticketParts[i], id, part); err != nil {
				return err
			}
		}
		return nil
	})
	return id, err
}

// boltOf is the file as bbolt has it, with all that was committed folded into it.
func boltOf(s *Store) *bbolt.DB {
	_ = s.engine.Fold() // a store that has stopped has what it has
	state := reflect.ValueOf(s.engine).Elem().FieldByName("state").FieldByName("v").UnsafePointer()
	return **(***bbolt.DB)(state) // the first field of engine's state is its file, and the file's is this
}

// BreakFile closes the file under bbolt and the log's: reads go on from the map, the next commit fails.
func BreakFile(s *Store) error {
	file := (*os.File)(reflect.ValueOf(boltOf(s)).Elem().FieldByName("file").UnsafePointer())
	err := file.Close()
	if log := reflect.ValueOf(s.engine).Elem().FieldByName("journal"); !log.IsNil() {
		live := log.Elem().FieldByName("live")
		segment := live.Index(live.Len() - 1).Elem().FieldByName("file")
		err = errors.Join(err, (*os.File)(segment.UnsafePointer()).Close())
	}
	return err
}

// FormatNumber is the format that this version writes.
const FormatNumber = formatNumber

// HLC is the hybrid clock's last reading.
func HLC(s *Store) (hlc uint64) {
	_ = s.do(true, func(o *op) error {
		hlc = o.state.hlc
		return nil
	})
	return hlc
}

// AwaitRung waits with a bell that rings after the first look has found nothing yet.
func AwaitRung(ctx context.Context) error {
	var b bell
	rung := false
	return b.await(ctx, func() bool {
		defer func() { rung = true; b.ring() }()
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
			_ = s.do(true, func(o *op) error {
				o.put(metaBucket, []byte("door"), nil)
				o.after(func() {
					come()
					for s.engine.Waiting() == 0 && !over.Load() {
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
	err := s.view(func(v *sight) error {
		st, err := v.loadAny(k, record.Int(id))
		if err == nil {
			tree, err = loadTree(v, k, st)
		}
		return err
	})
	if err != nil {
		t.Fatalf("tree of %s %d: %v", k.Name, id, err)
	}
	return tree
}

// Forget deletes all that is kept of a record besides its row.
func Forget(s *Store, k *record.Kind, id int64) error {
	return s.do(false, func(o *op) error { return forget(o, k, record.Int(id)) })
}

// SetLeaf makes a store one that has a centre.
func SetLeaf(s *Store) error {
	return s.Join(Operator(), Upstream{Node: "01J00000000000000000000001"}, Credential{Realm: s.Realm()})
}

// LimitRefusals sets how many refusals of a key are kept, and how many bytes of them.
func LimitRefusals(s *Store, number, bytes int) {
	s.limits.refusals.number, s.limits.refusals.bytes = number, bytes
}

// LimitLeases sets how many ranges of ids a key is given.
func LimitLeases(s *Store, number int) { s.limits.leases.number = number }

// UnknownMeta is the first key of a store's meta that the look at a damaged file would take for damage; "" = there is none.
func UnknownMeta(t testing.TB, s *Store) (unknown string) {
	t.Helper()
	err := boltOf(s).View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(schema[metaBucket].Name)).ForEach(func(key, _ []byte) error {
			if unknown == "" && !isMetaKey(key) {
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
const ReadsHeld = readsHeld

// LimitReads sets how many there may be of what is read whole.
func LimitReads(s *Store, n int) {
	s.limits.leaves, s.limits.checkins, s.limits.undone, s.limits.locals = n, n, n, n
}
