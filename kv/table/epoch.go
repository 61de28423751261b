package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/oklog/ulid/v2"

	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/record"
)

// ErrSequence is a text that is not a sequence of the protocol.
var ErrSequence = errors.New("not a sequence")

// epochs are a store's incarnations (design.md §4).
type epochs struct {
	present string
	ended   []endedEpoch // oldest first
}

// endedEpoch is an earlier incarnation of this store. A sequence of it beyond its end was never in this file.
type endedEpoch struct {
	epoch string
	end   uint64 // the latest sequence that this store has of it
}

// Rows of meta.
var (
	EpochKey   = []byte("epoch")
	epochsKey  = []byte("epochs")  // n × (epoch 26, end uv)
	SessionKey = []byte("session") // n × the ULID of a session, the latest first, as in Session.Before
)

// Epochs are the incarnations of this store, and the sequences that peers are told.
type Epochs struct {
	tables  *Set
	now     atomic.Pointer[epochs]
	Session atomic.Pointer[Session] // nil: no peer was told of one yet
}

// Session is one start of the store, once a peer was told of it.
type Session struct {
	ID     string   // ULID
	Before []string // the sessions before, the latest first, back to the last that a peer has answered to; or else the epoch
	Met    atomic.Bool
}

const (
	UlidLength = 26
	keptEpochs = 100 // an older one counts as unknown: a peer with its sequence starts over
)

func readEpochs(r *engine.View, present string) (*epochs, error) {
	e := &epochs{present: present}
	row, err := r.Get(MetaBucket, epochsKey)
	if err != nil {
		return e, err
	}
	c := Cutter{Rest: row}
	for len(c.Rest) > 0 {
		e.ended = append(e.ended, endedEpoch{string(c.Bytes(UlidLength)), c.Uvarint()})
	}
	if c.Short {
		return e, fmt.Errorf("%w: meta row epochs", engine.ErrCorrupt)
	}
	return e, nil
}

// read reads the store's epochs. Damage to the ended ones is reported: a peer with a cursor of theirs starts over.
func (e *Epochs) read(r *engine.View) error {
	present, err := metaTexts(r, EpochKey)
	if err != nil {
		return err
	}
	known, err := readEpochs(r, present[0])
	if errors.Is(err, engine.ErrCorrupt) {
		e.tables.Log.Error("what the store knows of its earlier epochs is damaged: a peer with a sequence of one of these starts over")
		known, err = &epochs{present: present[0]}, nil
	}
	e.now.Store(known)
	return err
}

// next is the epochs after the present one has ended and another has begun.
func (e *epochs) next(end uint64) *epochs {
	ended := append(append([]endedEpoch(nil), e.ended...), endedEpoch{e.present, end})
	return &epochs{present: ulid.Make().String(), ended: ended[max(0, len(ended)-keptEpochs):]}
}

func (e *epochs) encode() (row []byte) {
	for _, ended := range e.ended {
		row = binary.AppendUvarint(append(row, ended.epoch...), ended.end)
	}
	return row
}

// Begin begins a new incarnation of the running store, as when a peer has met another copy of it. It gives up the store's leases.
func (e *Epochs) Begin(why string) error {
	before := e.Present()
	if err := e.tables.Do(beginEpoch); err != nil {
		return fmt.Errorf("begin an epoch: %w", err)
	}
	e.tables.Log.Warn("a new epoch begins", slog.String("because", why), slog.String("before", before), slog.String("epoch", e.Present()))
	return nil
}

// beginEpoch begins a new incarnation. The sequences of the records and of the free databases both go on from the larger one, so one
// number is the end of the old epoch for both.
func beginEpoch(o *Tx) error {
	free, last, err := FreeCounters(o.View.View)
	if err != nil {
		return Identified(freeKey, err)
	}
	o.State.Seq = max(o.State.Seq, free)
	PutFreeCounters(o.Tx, o.State.Seq, last)
	next := o.Store.Epochs.now.Load().next(o.State.Seq)
	o.Put(MetaBucket, EpochKey, []byte(next.present))
	o.Put(MetaBucket, epochsKey, next.encode())
	o.Delete(MetaBucket, SessionKey) // the next session has no predecessor in the old epoch
	burnLeases(o)
	o.After(func() {
		o.Store.Epochs.now.Store(next)
		o.Store.Epochs.Session.Store(nil)
	})
	return nil
}

// Present is the ULID of this store's incarnation. A restored store has another one, because its sequences may mean other changes.
func (e *Epochs) Present() string { return e.now.Load().present }

// SeqText is the text of a sequence for peers: "<n>-<epoch>".
func (e *Epochs) SeqText(n uint64) string {
	return strconv.FormatUint(n, 10) + "-" + e.Present()
}

var sequenceText = regexp.MustCompile(`^[0-9]+(-.+)?$`)

// Since is the sequence after which a peer with a cursor goes on. For a known epoch it is the cursor, or the epoch's end if the cursor
// lies beyond it. For an unknown epoch, and for none, it is 0. It returns ErrSequence for a text that is no sequence.
func (e *Epochs) Since(text string) (uint64, error) {
	if !sequenceText.MatchString(text) {
		return 0, ErrSequence
	}
	number, epoch, _ := strings.Cut(text, "-")
	n, _ := strconv.ParseUint(number, 10, 64) // a number that is too large becomes the largest
	known := e.now.Load()
	for _, ended := range known.ended {
		if ended.epoch == epoch {
			return min(n, ended.end), nil
		}
	}
	if epoch != known.present {
		return 0, nil
	}
	end, err := e.end()
	return min(n, end), err
}

// end is the latest sequence of both logs, the records' and the free databases'.
func (e *Epochs) end() (end uint64, err error) {
	err = e.tables.View(func(v *View) error {
		free, _, err := FreeCounters(v.View)
		if err != nil {
			return err
		}
		end, err = Sequence(v)
		end = max(end, free)
		return err
	})
	return end, err
}

// markerName is the sidecar file that tells a copied folder from its original. It is written once. In a copy it is another file, or
// was written at another time.
const markerName = "doorward.mark"

const markerText = "Doorward tells by this file whether its folder is a copy. Leave it where it is.\n"

// Rows of meta. 0 = not known.
var (
	markerKey      = []byte("marker")       // inode of the sidecar 8; machine
	markerTimesKey = []byte("marker_times") // when the sidecar was made 8, and written 8: nanoseconds
)

// marker identifies the place where a store lies.
type marker struct {
	inode         uint64 // of the sidecar
	born, written int64  // times of the sidecar: a file system uses an inode's number again after its file is deleted
	machine       string
}

// isBlind tells whether no lasting property of the sidecar is known.
func (m *marker) isBlind() bool { return m.inode == 0 && m.born == 0 }

// differs tells whether m and was are different places.
func (m *marker) differs(was *marker) bool {
	other := func(was, is uint64) bool { return was != 0 && is != 0 && was != is }
	return m.machine != was.machine || other(was.inode, m.inode) ||
		other(uint64(was.born), uint64(m.born)) || other(uint64(was.written), uint64(m.written))
}

// marked reads the store's marker; nil = it has none.
func marked(o *Tx) (*marker, error) {
	row, err := o.Get(MetaBucket, markerKey)
	if err != nil || row == nil {
		return nil, err
	}
	times, err := o.Get(MetaBucket, markerTimesKey)
	if err != nil {
		return nil, err
	}
	c, t := Cutter{Rest: row}, Cutter{Rest: times}
	m := &marker{inode: c.Uint64(), machine: string(c.Rest)}
	if times != nil { // a store that was marked before had none
		m.born, m.written = int64(t.Uint64()), int64(t.Uint64())
	}
	if c.Short || t.Short {
		return nil, fmt.Errorf("%w: meta row marker", engine.ErrCorrupt)
	}
	return m, nil
}

func putMarker(o *Tx, m *marker) {
	o.Put(MetaBucket, markerKey, append(binary.BigEndian.AppendUint64(nil, m.inode), m.machine...))
	o.Put(MetaBucket, markerTimesKey, binary.BigEndian.AppendUint64(SeqKey(uint64(m.born)), uint64(m.written)))
}

// mark reads the marker of a folder. It makes the sidecar if the folder has none.
func mark(c Config) (*marker, error) {
	path := filepath.Join(c.Dir, markerName)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		// The store's own name is on the disk first: the sidecar alone would say that the store is gone.
		err = errors.Join(disk.SyncDir(c.Dir), os.WriteFile(path, []byte(markerText), 0o600), disk.SyncDir(c.Dir))
		if err == nil {
			info, err = os.Stat(path)
		}
	}
	if err != nil {
		return nil, err
	}
	m := &marker{machine: c.Machine}
	m.inode, m.born = originOf(path, info)
	if m.isBlind() {
		c.Logger.Warn("the folder's file system numbers its files anew: a copy of the folder is only noticed on another machine")
	} else {
		m.written = info.ModTime().UnixNano()
	}
	return m, nil
}

// Arrive begins a new epoch if the file came from a backup, or with a copy of the folder.
func (s *Set) Arrive(c Config) error {
	if c.Restored {
		return s.Do(restore)
	}
	if c.Aside || c.ReadOnly {
		return nil
	}
	m, err := mark(c)
	if err != nil {
		s.Log.Warn("the folder cannot be marked: a copy of it will not be noticed", slog.Any("cause", err))
		return nil // a full disk is no reason not to open
	}
	before := s.Epochs.Present()
	err = s.Do(func(o *Tx) error {
		if err := noteTables(o); err != nil {
			return err
		}
		was, err := marked(o)
		if errors.Is(err, engine.ErrCorrupt) { // it may be a copy, so it is taken for one: it gives no id and no sequence again
			s.Damage.Note(err)
			putMarker(o, m)
			return beginElsewhere(o)
		}
		if err != nil || was != nil && *was == *m {
			return err
		}
		putMarker(o, m)
		if was == nil || !m.differs(was) {
			return nil
		}
		return beginElsewhere(o)
	})
	if err == nil && s.Epochs.Present() != before {
		s.Log.Warn("this folder is a copy of another, or may be: a new epoch begins", slog.String("before", before), slog.String("epoch", s.Epochs.Present()))
	}
	return err
}

// The marks of a restored store move on by 100,000 ids or a hundred leases, because the ids may have been given out since the backup.
const (
	restoreGap    = 100_000
	restoreLeases = 100
)

// restore makes a backup's file the store: marks move on, a recovery and a new epoch begin.
func restore(o *Tx) error {
	for _, k := range record.Kinds() {
		if k.ULID {
			continue
		}
		PassOver(o.Tx, &o.State, k, max(restoreGap, restoreLeases*LeaseSize(k)), !o.Store.Identity.IsLeaf())
	}
	if err := noteTables(o); err != nil {
		return err
	}
	o.Put(MetaBucket, restoredKey, SeqKey(uint64(o.Now.UnixMicro())))
	o.Delete(MetaBucket, markerKey) // it will be marked where it is put
	o.Delete(MetaBucket, markerTimesKey)
	return beginElsewhere(o)
}

// beginElsewhere begins a new epoch on a machine with an unknown clock.
func beginElsewhere(o *Tx) error {
	o.Delete(MetaBucket, clockKey)
	o.After(o.Store.Clock.forget)
	return beginEpoch(o)
}
