package table

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/value"
)

// FormatNumber is what this version writes, and reads.
const FormatNumber = 4

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

// The buckets. Their numbers are part of each checksum and are never used again.
const (
	MetaBucket       engine.Bucket = iota // format, realm, node, epoch, code key; the writer's state
	LogBucket                             // seq → kind, id, revision, deleted
	LookupBucket                          // kind, field name, value, id → nothing
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
	LeaseBucket                           // given, taken: kind, first id → last id, holder; what is left
	OpaqueBucket                          // scope, document of an unknown kind → seq, tree
	OpaqueBodyBucket                      // scope, document, revision → JSON
	ErasedBucket                          // keyed hash of a record's id → how far its erasure is
	TwinBucket                            // what merged records were known by; what they were merged into
	ReadsBucket                           // minute, api key, kind → how many records of people it was shown
	FormerBucket                          // ticket, person who held it once → since when no more
	MirrorBucket                          // kind, id → the record as it was pulled; what is pulled from
	namedBuckets                          // how many the above are
)

// Kinds have the numbers from here on: 32 plus a kind's own.
const FirstKindBucket = engine.Bucket(32)

// Schema has the buckets' names in the file.
var Schema = newSchema()

func newSchema() (s engine.Schema) {
	for b, name := range [namedBuckets]string{"meta", "log", "lookup", "code", "admission", "once", "once_expiry",
		"free", "free_doc", "free_body", "free_log", "free_local", "free_blob", "free_chunk", "free_ref", "free_loose",
		"tree", "body", "scope_log", "left", "lease", "opaque", "opaque_body", "erased", "twin", "reads", "former", "mirror"} {
		s[b].Name = name
	}
	s[MetaBucket].IsKey = IsMetaKey
	s[LogBucket].Fill = engine.TailFill
	s[LookupBucket].Fill, s[ScopeLogBucket].Fill = engine.RangeFill, engine.RangeFill
	for _, k := range record.Kinds() {
		s[KindBucket(k)] = engine.Def{Name: "kind:" + k.Name, Fill: engine.TailFill}
	}
	return s
}

// KindBucket holds a kind's records.
func KindBucket(k *record.Kind) engine.Bucket { return FirstKindBucket + engine.Bucket(k.Number) }

// Beside are the files that only a store makes beside its own, once that is whole and no power cut takes it away again.
var Beside = [...]string{markerName, newestName, ledger.LedgerName}

// Gone returns a *BadFile if a folder had a store and its file is missing. An empty store in its place would be served as if
// the folder had never held data. Gone returns nil if the store is there, or if the folder has had none.
func Gone(dir string, zone *time.Location) error {
	path := Path(dir)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // if it is damaged, opening it reports that
	}
	for _, name := range Beside {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			continue
		}
		reason := fmt.Sprintf("is missing, and %s beside it shows that there was one: restore a backup, or begin anew in an empty folder", name)
		return &engine.BadFile{Path: path, Reason: reason, Backup: NewestBackup(dir, zone)}
	}
	return nil
}

var CompactedKey = []byte("compacted") // in meta: of when everything is that the file holds at all, microseconds 8

func CompactedAt(v *View) (int64, error) {
	row, err := v.Get(MetaBucket, CompactedKey)
	if err != nil || len(row) != 8 {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(row)), nil
}

// A root that was restored from a backup lacks what was made after the backup, by itself and by laptops that may be lost by
// now. Other laptops hold it. For a week the root takes from a laptop also what other nodes have made: their facts, and tickets
// that were changed at the centre. All other checks of a laptop's documents stay.
const recoveryTime = 7 * 24 * time.Hour

var restoredKey = []byte("restored") // in meta: when the store was restored, microseconds since 1970 8

// beginRecovery notes the moment of a restore.
func beginRecovery(o *Tx) {
	o.Put(MetaBucket, restoredKey, binary.BigEndian.AppendUint64(nil, uint64(o.Now.UnixMicro())))
}

// Recovers tells whether the store takes from laptops what a backup did not have.
func Recovers(o *Tx) (bool, error) {
	row, err := o.Get(MetaBucket, restoredKey)
	if err != nil || len(row) != 8 {
		return false, err
	}
	return o.Now.Sub(time.UnixMicro(int64(binary.BigEndian.Uint64(row)))) < recoveryTime, nil
}

// What the store answers when it does not do what was asked.
var ErrNotFound = errors.New("no such record") // missing, or out of the principal's scope

var ErrBadLogin = errors.New("invalid api credentials") // unknown key, wrong secret, revoked, expired

var ErrConflict = errors.New("conflicts with another record") // the concrete error is a *Conflict

var ErrKeyReused = errors.New("idempotency key was used for another body") // also a nonce used for another code

var ErrNewerFormat = errors.New("the store was written by a newer version")

// ErrRevoked is the ErrBadLogin of a key that was revoked, told to whoever has its secret.
var ErrRevoked = fmt.Errorf("%w: the key is revoked", ErrBadLogin)

// Conflict says what a write collides with.
type Conflict struct {
	Reason string         // one sentence
	Field  string         // the field that collides; "" where it is none
	Counts map[string]int // on delete: kind → how many records refer to this one; otherwise nil
}

func (c *Conflict) Error() string { return fmt.Sprintf("%v: %s", ErrConflict, c.Reason) }

// Is makes a Conflict an ErrConflict.
func (c *Conflict) Is(target error) bool { return target == ErrConflict }

// Refused is a *Forbidden of one document.
func Refused(reason string) error {
	return &auth.Forbidden{CurrentScopes: []string{}, Reason: reason}
}

// IdsOf are the live records of a kind.
func IdsOf(v *View, k *record.Kind) []record.ID {
	all := v.Lists.Kind(k).All
	return all.Page(nil, 0, all.Len())
}

func OrErr(err, other error) error {
	if err == nil {
		return other
	}
	return err
}

func AppendMember(dst []byte, name string, v jsontext.Value) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	return append(append(append(dst, value.Quote(name)...), ':'), v...)
}

// RefusedFor is a failure of the store itself, or else a refusal.
func RefusedFor(err error, reason string) error {
	if err != nil {
		return err
	}
	return Refused(reason)
}

// IntOf is a stored integer; 0 for null.
func IntOf(v jsontext.Value) int64 {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0 // null, or not there
	}
	return n
}
