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
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/record"
)

// FormatNumber is the file format that this version writes. It also reads those from OldestFormat on: in format 6 the row of a free database
// does not say how large the database is.
const (
	FormatNumber = 7
	OldestFormat = 6
)

var formatKey = []byte("format") // in meta

// engine is the configuration of the file below.
func (c Config) engine(room *disk.Room) engine.Config {
	return engine.Config{
		Path: Path(c.Dir), Schema: &Schema, Accept: accept, Fill: fillNew, Logger: c.Logger, Registerer: c.Registerer,
		Room: room, ReadOnly: c.ReadOnly, Certain: c.Certain,
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
	w.Put(MetaBucket, formatKey, formatRow())
	w.Put(MetaBucket, CodeKey, secret)
	for _, key := range [][]byte{RealmKey, nodeKey, EpochKey} {
		w.Put(MetaBucket, key, []byte(ulid.Make().String()))
	}
}

// formatRow tells the format of a file, and the newest tables that its bodies were written by.
func formatRow() []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, FormatNumber), record.Tables())
}

// noteTables notes that this version writes bodies, before it does: earlier versions cannot read those of a newer table.
func noteTables(o *Tx) error {
	row, err := o.Get(MetaBucket, formatKey)
	if err == nil && !bytes.Equal(row, formatRow()) {
		o.Put(MetaBucket, formatKey, formatRow())
	}
	return err
}

// accept checks that this version reads a file's format: ErrNewerFormat, ErrOlderFormat.
func accept(r *engine.View) error {
	format, err := ReadFormat(r)
	if err == nil && format < OldestFormat {
		err = fmt.Errorf("%w: format %d, this one knows %d and later", ErrOlderFormat, format, OldestFormat)
	}
	return err
}

// ReadFormat returns the format of a file. It returns ErrNewerFormat for one that this version does not know, and for newer tables.
func ReadFormat(r *engine.View) (uint64, error) {
	row, err := r.Get(MetaBucket, formatKey)
	if err != nil {
		return 0, Identified(formatKey, err)
	}
	c := Cutter{Rest: row}
	format, tables := c.Uvarint(), c.Uvarint()
	if format > FormatNumber || tables > record.Tables() {
		return 0, fmt.Errorf("%w: format %d.%d, this one knows %d.%d", ErrNewerFormat, format, tables, FormatNumber, record.Tables())
	}
	return format, nil
}

// What is removed is gone from the file after a compaction that begins later. Compactions are counted, because a clock may be ahead or be put back.
var compactedKey = []byte("compacted") // in meta: how many compactions the file has passed 8

// Compactions is how many compactions the file has passed.
func Compactions(v *View) (n uint64, err error) {
	row, err := v.Get(MetaBucket, compactedKey)
	if err != nil || len(row) != 8 {
		return 0, err
	}
	return binary.BigEndian.Uint64(row), nil
}

// NoteCompacted counts a compaction in the file that it writes.
func NoteCompacted(w *engine.Tx) {
	n, _ := Compactions(&View{View: &w.View}) // each row was checked when it was copied
	w.Put(MetaBucket, compactedKey, SeqKey(n+1))
}

// keeping is how many compactions leave bytes of what an operation removes: also the one that is under way, which may have copied them.
func keeping(o *Tx) (n uint64, err error) {
	n, err = Compactions(o.View)
	if o.Tx.Rewriting() {
		n++
	}
	return n, err
}

// A root that was restored from a backup lacks the records that were made after the backup, by the root and by laptops that may be
// lost. Other laptops hold copies of them. For a week the root also takes from a laptop what other nodes have made: facts, and tickets
// that were changed at the centre. All other checks of a laptop's documents stay.
const recoveryTime = 7 * 24 * time.Hour

var restoredKey = []byte("restored") // in meta: when the store was restored, microseconds since 1970 8

// RestoredAt returns when the store was made of a backup the last time; zero = it never was.
func RestoredAt(v *View) (time.Time, error) {
	row, err := v.Get(MetaBucket, restoredKey)
	if err != nil || len(row) != 8 {
		return time.Time{}, err
	}
	return time.UnixMicro(int64(binary.BigEndian.Uint64(row))), nil
}

// Recovers tells whether the store takes from laptops the records that its backup did not have.
func Recovers(o *Tx) (bool, error) {
	at, err := RestoredAt(o.View)
	return !at.IsZero() && o.Now.Sub(at) < recoveryTime, err
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
	FreeBucket                            // free database's name → its id, counts and size
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
	if holds([][]byte{formatKey, RealmKey, nodeKey, EpochKey, CodeKey, StateKey, freeKey, epochsKey, markerKey, markerTimesKey, backupsKey,
		restoredKey, releasedKey, SessionKey, clockKey, compactedKey, CentreKey, UpstreamKey}, key) {
		return true
	}
	name, _, several := bytes.Cut(key, []byte("/"))
	return several && slices.Contains([]string{"contact", "sessions", "handed_in", "door_closed", honest.Refusals.of, honest.Leases.of, honest.LetIn.of}, string(name))
}

// Folder is where the store lies.
type Folder struct {
	Dir      string
	Room     *disk.Room // on its disk
	ReadOnly bool       // nothing is written to it
}

// Bytes is the size of the store's file.
func (f *Folder) Bytes() int64 { return disk.Size(Path(f.Dir)) }

// Path is the store's file in a folder.
func Path(dir string) string { return filepath.Join(dir, "doorward.db") }

// makeFolderFor makes the folder of a new store. It returns a *BadFile if the folder had a store before and its file is missing.
func makeFolderFor(c Config) error {
	if c.ReadOnly {
		return nil
	}
	return errors.Join(disk.MakeFolder(c.Dir), Gone(c.Dir, time.UTC))
}

// Beside are the files that a store makes beside its own after its own file is durable.
var Beside = [...]string{markerName, newestName, ledger.LedgerName}

// Gone returns a *BadFile if a folder had a store and its file is missing. An empty store in its place would be served as if
// the folder had never held data. Gone returns nil if the store is there, or if the folder has had none.
func Gone(dir string, zone *time.Location) error {
	path := Path(dir)
	_ = disk.Replaced(path) // a crash may have left it without its name
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

// VerifyName is the file beside the store with the result of the last check: a moment in microseconds, a blank, and the number of
// faults. A check writes nothing into the store itself.
const VerifyName = "doorward.verify"

// ReplaceSmall replaces a small file: temporary name, fsync, rename, fsync of the folder.
func ReplaceSmall(dir, name string, text []byte) error {
	f, err := os.CreateTemp(dir, disk.OwnPrefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to tell
		return err
	}
	return disk.SyncDir(dir)
}

// keptBackups is how many backups a store remembers.
const keptBackups = 100

var backupsKey = []byte("backups") // in meta: lines of a moment in microseconds, a blank, and a quoted path; oldest first

// Backup is a copy of the store as a file.
type Backup struct {
	At   time.Time // zero = there was none
	Path string
}

// newestName is the file beside the store that lists its backups, for the case that the store's file is lost. Its lines are those of
// the meta row.
const newestName = "doorward.backup"

// parseBackup reads a line.
func parseBackup(line string) (b Backup, ok bool) {
	at, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	n, failed := strconv.ParseInt(at, 10, 64)
	path, bad := strconv.Unquote(quoted)
	return Backup{time.UnixMicro(n), path}, failed == nil && bad == nil
}

// isThere tells whether a backup's file is at its path. Its disk may be unplugged.
func (b Backup) isThere() bool {
	info, err := os.Stat(b.Path)
	return err == nil && info.Mode().IsRegular()
}

// with is the row with one more backup. A backup replaces an older one with the same path.
func (b Backup) with(all []Backup) (row []byte) {
	all = slices.DeleteFunc(all, func(a Backup) bool { return a.Path == b.Path })
	for _, a := range append(all[max(0, len(all)+1-keptBackups):], b) {
		row = fmt.Appendf(row, "%d %q\n", a.At.UnixMicro(), a.Path)
	}
	return row
}

// NewestBackup names the newest backup of a folder's store. If its file is missing, NewestBackup also names the newest backup with a
// file. "" = no backup is known.
func NewestBackup(dir string, zone *time.Location) (text string) {
	for _, b := range slices.Backward(BackupsBeside(dir)) {
		name := fmt.Sprintf("%s, of %s", b.Path, b.At.In(zone).Format(time.DateTime))
		switch there := b.isThere(); {
		case there && text == "":
			return "the newest backup known is " + name
		case there:
			return text + "; the newest that is there is " + name
		case text == "":
			text = "the newest backup known, " + name + ", is not there now"
		}
	}
	return text
}

// BackupsBeside returns the backups that the file beside a folder's store lists, oldest first.
func BackupsBeside(dir string) (all []Backup) {
	text, _ := os.ReadFile(filepath.Join(dir, newestName)) // a file that cannot be read lists none
	for line := range strings.Lines(string(text)) {
		if b, ok := parseBackup(line); ok {
			all = append(all, b)
		}
	}
	return all
}

// NoteBeside adds a backup to the file beside a folder's store.
func NoteBeside(dir string, b Backup) error {
	return ReplaceSmall(dir, newestName, b.with(BackupsBeside(dir)))
}

// NoteBackup adds a backup to those that the store remembers.
func NoteBackup(o *Tx, b Backup) error {
	all, err := Backups(o.View)
	if err != nil {
		return err
	}
	o.Put(MetaBucket, backupsKey, b.with(all))
	return nil
}

// Backups are those that the store remembers, oldest first.
func Backups(v *View) (all []Backup, err error) {
	row, err := v.Get(MetaBucket, backupsKey)
	for line := range strings.Lines(string(row)) {
		b, ok := parseBackup(line)
		if !ok {
			return nil, fmt.Errorf("%w: meta row backups", engine.ErrCorrupt)
		}
		all = append(all, b)
	}
	return all, err
}

// Blamed is an error of a store, by the name of the file that is the cause and the newest backup of what is in it.
func Blamed(c Config, err error) error {
	switch {
	case errors.Is(err, ErrNewerFormat):
		return fmt.Errorf("the file %s: %w", Path(c.Dir), err)
	case errors.Is(err, ErrOlderFormat): // its backups are of that format too
		return fmt.Errorf("the file %s: %w; copy it with that version into a file (doorward replicate %s all.ndjson.zst), and with this one into an empty folder (doorward replicate all.ndjson.zst NEW)",
			Path(c.Dir), err, c.Dir)
	}
	err = engine.Blamed(Path(c.Dir), err)
	var bad *engine.BadFile
	if errors.As(err, &bad) {
		bad.Backup = NewestBackup(c.Dir, c.Zone)
	}
	return err
}

// Blamed is an error of the store in words for the owner of its file: damage comes as a *BadFile.
func (s *Set) Blamed(err error) error {
	return Blamed(Config{Dir: s.Folder.Dir, Zone: s.Clock.Zone()}, err)
}
