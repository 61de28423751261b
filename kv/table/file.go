package table

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/disk"
	"doorward/kv/engine"
)

// FormatNumber is the file format that this version writes and reads.
const FormatNumber = 5

var formatKey = []byte("format") // in meta

// engine is the configuration of the file below.
func (c Config) engine(room *disk.Room) engine.Config {
	return engine.Config{
		Path: Path(c.Dir), Schema: &Schema, Accept: accept, Fill: fillNew, Logger: c.Logger, Registerer: c.Registerer,
		Room: room, ReadOnly: c.ReadOnly,
	}
}

// Room is the room on the store's disk.
func (c Config) Room() *disk.Room {
	return disk.NewRoom(disk.RoomConfig{Dir: c.Dir, Limits: c.Disk, Free: c.Free, Logger: c.Logger})
}

// fillNew writes the rows that every store has.
func fillNew(w *engine.Tx) {
	secret := make([]byte, 32)
	rand.Read(secret)
	w.Put(MetaBucket, formatKey, binary.AppendUvarint(nil, FormatNumber))
	w.Put(MetaBucket, CodeKey, secret)
	for _, key := range [][]byte{RealmKey, nodeKey, EpochKey} {
		w.Put(MetaBucket, key, []byte(ulid.Make().String()))
	}
}

// accept checks that a file has this version's format.
func accept(r *engine.View) error {
	format, err := ReadFormat(r)
	if err == nil && format != FormatNumber {
		err = &engine.BadFile{Reason: fmt.Sprintf("is of format %d, which this version reads no more", format)}
	}
	return err
}

// ReadFormat returns the format of a file. It returns ErrNewerFormat for one that this version does not know.
func ReadFormat(r *engine.View) (uint64, error) {
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

var CompactedKey = []byte("compacted") // in meta: when the last compaction began, microseconds 8

// CompactedAt is when the last compaction began, in microseconds; 0 = the file was never compacted.
func CompactedAt(v *View) (int64, error) {
	row, err := v.Get(MetaBucket, CompactedKey)
	if err != nil || len(row) != 8 {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(row)), nil
}

// A root that was restored from a backup lacks the records that were made after the backup, by the root and by laptops that may be
// lost. Other laptops hold copies of them. For a week the root also takes from a laptop what other nodes have made: facts, and tickets
// that were changed at the centre. All other checks of a laptop's documents stay.
const recoveryTime = 7 * 24 * time.Hour

var restoredKey = []byte("restored") // in meta: when the store was restored, microseconds since 1970 8

// beginRecovery notes the moment of a restore.
func beginRecovery(o *Tx) {
	o.Put(MetaBucket, restoredKey, binary.BigEndian.AppendUint64(nil, uint64(o.Now.UnixMicro())))
}

// Recovers tells whether the store takes from laptops the records that its backup did not have.
func Recovers(o *Tx) (bool, error) {
	row, err := o.Get(MetaBucket, restoredKey)
	if err != nil || len(row) != 8 {
		return false, err
	}
	return o.Now.Sub(time.UnixMicro(int64(binary.BigEndian.Uint64(row)))) < recoveryTime, nil
}
