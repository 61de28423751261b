package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/oklog/ulid/v2"

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

// PassOver moves a kind's mark on by a gap. A root does not know which laptops had leases of the ids in the gap, so it takes their
// records from every laptop.
func PassOver(w *engine.Tx, s *state, k *record.Kind, gap int64, root bool) {
	from := s.Minted[k.Number] + 1
	s.Minted[k.Number] += gap
	if LeaseSize(k) > 0 && root {
		w.Put(LeaseBucket, LeaseKey(LeaseGiven, k, from), binary.AppendUvarint(SeqKey(uint64(from+gap-1)), Forgotten))
	}
}
