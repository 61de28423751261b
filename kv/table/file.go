package table

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/record"
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

// The buckets. Their numbers are part of each checksum and are never used again.
const (
	MetaBucket       engine.Bucket = iota // format, realm, node, epoch, code key; the writer's state
	LogBucket                             // seq → kind, id, revision, deleted
	LookupBucket                          // kind, tag of a field, value, id → nothing
	CodeBucket                            // form, code hash, event, ticket → nothing
	AdmissionBucket                       // by code or by ticket, list, hlc, check-in → nothing
	OnceBucket                            // idempotency key → the kept answer
	OnceExpiryBucket                      // time, idempotency key → nothing
	FreeBucket                            // free database's name → its id and counts
	FreeDocBucket                         // database, document → sequence, revision tree
	FreeBodyBucket                        // database, document, revision → attachments, JSON
	FreeLogBucket                         // database, seq → document
	FreeLocalBucket                       // database, api key, id → a local document
	FreeBlobBucket                        // database, SHA-256 → upload, length, MD5
	FreeChunkBucket                       // database, upload, number → up to 64 KiB
	FreeRefBucket                         // database, SHA-256, document, revision → nothing
	FreeLooseBucket                       // database, time, upload → SHA-256 of a blob that no revision may need
	TreeBucket                            // kind, id → the record's revision tree, unless its header says it all
	BodyBucket                            // kind, id, revision → a body that is not the record's present one
	ScopeLogBucket                        // scope, seq → kind, id, revision, deleted, removed
	LeftBucket                            // kind, id, scope that it left → seq
	LeaseBucket                           // given, taken: kind, first id → last id, holder; next id
	OpaqueBucket                          // scope, document of an unknown kind → seq, tree
	OpaqueBodyBucket                      // scope, document, revision → JSON
	ErasedBucket                          // keyed hash of a record's id → how far its erasure is
	MergedBucket                          // keys of merged records; the records that they were merged into
	ReadsBucket                           // minute, api key, kind → how many records of people it was shown
	MirrorBucket                          // kind, id → the record as it was pulled; the server that it is pulled from
	namedBuckets                          // their number
)

// Schema has the buckets' names in the file.
var Schema = newSchema()

func newSchema() (s engine.Schema) {
	for b, name := range [namedBuckets]string{"meta", "log", "lookup", "code", "admission", "once", "once_expiry",
		"free", "free_doc", "free_body", "free_log", "free_local", "free_blob", "free_chunk", "free_ref", "free_loose",
		"tree", "body", "scope_log", "left", "lease", "opaque", "opaque_body", "erased", "twin", "reads", "mirror"} {
		s[b].Name = name
	}
	s[MetaBucket].IsKey = IsMetaKey
	s[LogBucket].Tail = true
	s[LookupBucket].Ranges, s[ScopeLogBucket].Ranges = true, true
	s[CodeBucket].Scattered = true
	for _, k := range record.Kinds() {
		s[KindBucket(k)] = engine.Def{Name: "kind:" + k.Name, Tail: true}
	}
	return s
}

// IsMetaKey tells whether meta may have a key.
func IsMetaKey(key []byte) bool {
	for _, name := range [...][]byte{formatKey, RealmKey, nodeKey, EpochKey, CodeKey, StateKey, freeKey, epochsKey, markerKey, markerTimesKey, backupsKey,
		restoredKey, releasedKey, SessionKey, clockKey, CompactedKey, CentreKey, UpstreamKey} {
		if bytes.Equal(key, name) {
			return true
		}
	}
	name, _, several := bytes.Cut(key, []byte("/"))
	return several && slices.Contains([]string{"contact", "sessions", "handed_in", honest.Refusals.of, honest.Leases.of}, string(name))
}
