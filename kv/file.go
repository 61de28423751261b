package kv

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"doorward/kv/disk"
	"doorward/kv/engine"

	"github.com/oklog/ulid/v2"
)

// formatNumber is what this version writes, and reads.
const formatNumber = 4

var (
	formatKey = []byte("format")
	realmKey  = []byte("realm")
	nodeKey   = []byte("node")
	epochKey  = []byte("epoch")
	codeKey   = []byte("code_key")
)

// identity is who this store is (design.md §4).
type identity struct {
	node   string
	family *atomic.Pointer[family]
}

// family is what the nodes of a congregation have in common; an empty store that joins them takes it over.
type family struct {
	realm   string
	codeKey []byte
}

// engine is how the store's file is opened.
func (c Config) engine() engine.Config {
	return engine.Config{
		Path: Path(c.Dir), Schema: &schema, Accept: accept, Fill: fillNew, Logger: c.Logger, Registerer: c.Registerer,
		Room: c.room(), ReadOnly: c.ReadOnly,
	}
}

func (c Config) room() *disk.Room {
	return disk.NewRoom(disk.RoomConfig{Dir: c.Dir, Limits: c.Disk, Free: c.Free, Logger: c.Logger})
}

// makeFolderFor makes the folder of a store that has none yet, unless it had one whose file is missing.
func makeFolderFor(c Config) error {
	if c.ReadOnly {
		return nil
	}
	return errors.Join(MakeFolder(c.Dir), Gone(c.Dir, time.UTC))
}

// fillNew writes what a store holds from its first moment.
func fillNew(w *engine.Tx) {
	secret := make([]byte, 32)
	rand.Read(secret)
	w.Put(metaBucket, formatKey, binary.AppendUvarint(nil, formatNumber))
	w.Put(metaBucket, codeKey, secret)
	for _, key := range [][]byte{realmKey, nodeKey, epochKey} {
		w.Put(metaBucket, key, []byte(ulid.Make().String()))
	}
}

// accept looks whether a file is of this version's format.
func accept(r *engine.View) error {
	format, err := readFormat(r)
	if err == nil && format != formatNumber {
		err = &BadFile{Reason: fmt.Sprintf("is of format %d, which this version reads no more", format)}
	}
	return err
}

func readFormat(r *engine.View) (uint64, error) {
	if !r.Has(metaBucket) {
		return 0, &BadFile{Reason: "is a store of another program"}
	}
	row, err := r.Get(metaBucket, formatKey)
	if err != nil {
		return 0, identified(formatKey, err)
	}
	c := cutter{rest: row}
	format := c.uvarint()
	if format > formatNumber {
		return 0, fmt.Errorf("%w: format %d, this one knows %d", ErrNewerFormat, format, formatNumber)
	}
	return format, nil
}

func (s *tables) readIdentity(r *engine.View) (id identity, err error) {
	text := func(key []byte) string {
		row, e := r.Get(metaBucket, key)
		if e == nil && row == nil {
			e = fmt.Errorf("%w: meta row %s is missing", ErrCorrupt, key)
		}
		if err == nil {
			err = identified(key, e)
		}
		return string(row)
	}
	id = identity{node: text(nodeKey), family: &atomic.Pointer[family]{}}
	id.family.Store(&family{text(realmKey), []byte(text(codeKey))})
	e, failed := readEpochs(r, text(epochKey))
	if errors.Is(failed, ErrCorrupt) {
		s.log.Error("what the store knows of its earlier epochs is damaged: a peer with a sequence of one of these starts over")
		e, failed = &epochs{present: e.present}, nil
	}
	s.epochs.Store(e)
	return id, errors.Join(err, failed)
}

// isMetaKey tells a key that meta may have.
func isMetaKey(key []byte) bool {
	for _, name := range [...][]byte{formatKey, realmKey, nodeKey, epochKey, codeKey, stateKey, freeKey, epochsKey, markerKey, markerTimesKey, backupsKey,
		restoredKey, releasedKey, sessionKey, clockKey, compactedKey, centreKey, upstreamKey} {
		if bytes.Equal(key, name) {
			return true
		}
	}
	name, _, several := bytes.Cut(key, []byte("/"))
	return several && slices.Contains([]string{"contact", "sessions", honest.refusals.of, honest.leases.of}, string(name))
}
