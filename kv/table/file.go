package table

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/disk"
	"doorward/kv/engine"
)

// FormatNumber is what this version writes, and reads.
const FormatNumber = 5

var (
	formatKey = []byte("format")
	RealmKey  = []byte("realm")
	nodeKey   = []byte("node")
	EpochKey  = []byte("epoch")
	CodeKey   = []byte("code_key")
)

// identity is who this store is (design.md §4).
type identity struct {
	Node   string
	Family *atomic.Pointer[Family]
}

// Family is what the nodes of a congregation have in common; an empty store that joins them takes it over.
type Family struct {
	Realm   string
	CodeKey []byte
}

// engine is how the store's file is opened.
func (c Config) engine() engine.Config {
	return engine.Config{
		Path: Path(c.Dir), Schema: &Schema, Accept: accept, Fill: fillNew, Logger: c.Logger, Registerer: c.Registerer,
		Room: c.Room(), ReadOnly: c.ReadOnly,
	}
}

func (c Config) Room() *disk.Room {
	return disk.NewRoom(disk.RoomConfig{Dir: c.Dir, Limits: c.Disk, Free: c.Free, Logger: c.Logger})
}

// makeFolderFor makes the folder of a store that has none yet, unless it had one whose file is missing.
func makeFolderFor(c Config) error {
	if c.ReadOnly {
		return nil
	}
	return errors.Join(disk.MakeFolder(c.Dir), Gone(c.Dir, time.UTC))
}

// fillNew writes what a store holds from its first moment.
func fillNew(w *engine.Tx) {
	secret := make([]byte, 32)
	rand.Read(secret)
	w.Put(MetaBucket, formatKey, binary.AppendUvarint(nil, FormatNumber))
	w.Put(MetaBucket, CodeKey, secret)
	for _, key := range [][]byte{RealmKey, nodeKey, EpochKey} {
		w.Put(MetaBucket, key, []byte(ulid.Make().String()))
	}
}

// accept looks whether a file is of this version's format.
func accept(r *engine.View) error {
	format, err := ReadFormat(r)
	if err == nil && format != FormatNumber {
		err = &engine.BadFile{Reason: fmt.Sprintf("is of format %d, which this version reads no more", format)}
	}
	return err
}

func ReadFormat(r *engine.View) (uint64, error) {
	if !r.Has(MetaBucket) {
		return 0, &engine.BadFile{Reason: "is a store of another program"}
	}
	row, err := r.Get(MetaBucket, formatKey)
	if err != nil {
		return 0, Identified(formatKey, err)
	}
	c := Cutter{Rest: row}
	format := c.Uvarint()
	if format > FormatNumber {
		return 0, fmt.Errorf("%w: format %d, this one knows %d", ErrNewerFormat, format, FormatNumber)
	}
	return format, nil
}

func (s *Set) readIdentity(r *engine.View) (id identity, err error) {
	text := func(key []byte) string {
		row, e := r.Get(MetaBucket, key)
		if e == nil && row == nil {
			e = fmt.Errorf("%w: meta row %s is missing", engine.ErrCorrupt, key)
		}
		if err == nil {
			err = Identified(key, e)
		}
		return string(row)
	}
	id = identity{Node: text(nodeKey), Family: &atomic.Pointer[Family]{}}
	id.Family.Store(&Family{text(RealmKey), []byte(text(CodeKey))})
	e, failed := readEpochs(r, text(EpochKey))
	if errors.Is(failed, engine.ErrCorrupt) {
		s.Log.Error("what the store knows of its earlier epochs is damaged: a peer with a sequence of one of these starts over")
		e, failed = &epochs{present: e.present}, nil
	}
	s.epochs.Store(e)
	return id, errors.Join(err, failed)
}

// IsMetaKey tells a key that meta may have.
func IsMetaKey(key []byte) bool {
	for _, name := range [...][]byte{formatKey, RealmKey, nodeKey, EpochKey, CodeKey, StateKey, freeKey, epochsKey, markerKey, markerTimesKey, backupsKey,
		restoredKey, releasedKey, SessionKey, clockKey, CompactedKey, CentreKey, UpstreamKey} {
		if bytes.Equal(key, name) {
			return true
		}
	}
	name, _, several := bytes.Cut(key, []byte("/"))
	return several && slices.Contains([]string{"contact", "sessions", honest.Refusals.of, honest.Leases.of}, string(name))
}
