package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"

	"doorward/kv/engine"
	"doorward/kv/record"
)

// ErrSequence is a text that no server of the protocol would give as a sequence.
var ErrSequence = errors.New("not a sequence")

// epochs are a store's incarnations (design.md §4).
type epochs struct {
	present string
	ended   []endedEpoch // oldest first
}

// endedEpoch is an incarnation of this store's own past. What a peer has of it beyond its end was never in this file.
type endedEpoch struct {
	epoch string
	end   uint64 // the latest sequence that this store has of it
}

var epochsKey = []byte("epochs") // in meta: n × (epoch 26, end uv)

const (
	UlidLength = 26
	keptEpochs = 100 // one that is older counts as unknown: its cursors start over
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

// next is what they are once the present one has ended.
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

// BeginEpoch begins a new incarnation of the running store, as when a peer has met another copy of it: its leases are burned.
func (s *Set) BeginEpoch(why string) error {
	before := s.Epoch()
	if err := s.Do(false, beginEpoch); err != nil {
		return fmt.Errorf("begin an epoch: %w", err)
	}
	s.Log.Warn("a new epoch begins", slog.String("because", why), slog.String("before", before), slog.String("epoch", s.Epoch()))
	return nil
}

// beginEpoch begins a new incarnation. Both sequences, the records' and the free databases', go on from the larger one, so that
// one number tells for either where the old epoch ended.
func beginEpoch(o *Tx) error {
	free, last, err := FreeCounters(o.View.View)
	if err != nil {
		return Identified(freeKey, err)
	}
	o.State.Seq = max(o.State.Seq, free)
	PutFreeCounters(o.Tx, o.State.Seq, last)
	next := o.Store.epochs.Load().next(o.State.Seq)
	o.Put(MetaBucket, EpochKey, []byte(next.present))
	o.Put(MetaBucket, epochsKey, next.encode())
	o.Delete(MetaBucket, SessionKey) // the next one has no predecessor in the old epoch
	burnLeases(o)
	o.After(func() {
		o.Store.epochs.Store(next)
		o.Store.Session.Store(nil)
	})
	return nil
}

// Epoch is the ULID of this store's incarnation: a restored store has another one, for its sequences may mean other changes.
func (s *Set) Epoch() string { return s.epochs.Load().present }

// SeqText is a sequence as peers are told it: "<n>-<epoch>".
func (s *Set) SeqText(n uint64) string {
	return strconv.FormatUint(n, 10) + "-" + s.Epoch()
}

var sequenceText = regexp.MustCompile(`^[0-9]+(-.+)?$`)

// Since is the sequence after which a peer with a cursor goes on: within an epoch of this store's past where the cursor stands,
// beyond the epoch's end from its end, and from the start (0) where the epoch is unknown or not told. ErrSequence.
func (s *Set) Since(text string) (uint64, error) {
	if !sequenceText.MatchString(text) {
		return 0, ErrSequence
	}
	number, epoch, _ := strings.Cut(text, "-")
	n, _ := strconv.ParseUint(number, 10, 64) // of what is too large: the largest
	e := s.epochs.Load()
	for _, ended := range e.ended {
		if ended.epoch == epoch {
			return min(n, ended.end), nil
		}
	}
	if epoch != e.present {
		return 0, nil
	}
	end, err := s.end()
	return min(n, end), err
}

// end is the latest sequence of both logs, the records' and the free databases'.
func (s *Set) end() (end uint64, err error) {
	err = s.View(func(v *View) error {
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

// PassOver moves a kind's mark on. At a root nobody knows to whom the ids between were leased: records that laptops have made of them
// are taken.
func PassOver(w *engine.Tx, s *state, k *record.Kind, gap int64, root bool) {
	from := s.Minted[k.Number] + 1
	s.Minted[k.Number] += gap
	if LeaseSize(k) > 0 && root {
		w.Put(LeaseBucket, LeaseKey(LeaseGiven, k, from), binary.AppendUvarint(SeqKey(uint64(from+gap-1)), Forgotten))
	}
}
