package table

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/engine"
	"doorward/kv/record"
)

// Damage is a damaged place of the file: a page, or a row of a bucket. It shows no stored data.
type Damage struct {
	Page   uint64 `json:"page,omitzero"`    // 0 = it is a row
	Bucket string `json:"bucket,omitempty"` // of a row
	Row    string `json:"row,omitempty"`    // which row of the bucket, as "person 12"
	Reason string `json:"reason"`
}

// String is one sentence without its full stop.
func (d Damage) String() string {
	switch {
	case d.Page != 0:
		return fmt.Sprintf("page %d %s", d.Page, d.Reason)
	case d.Bucket == "":
		return d.Reason
	}
	return fmt.Sprintf("bucket %s: %s (%s)", d.Bucket, d.Reason, d.Row)
}

// failsChecksum is the reason of a row if its checksum does not fit its value, its key and its bucket.
const failsChecksum = "a value fails its checksum"

// DamagedRow is a row that fails its checksum.
func DamagedRow(b engine.Bucket, key []byte) Damage {
	return Damage{Bucket: string(Schema[b].Name), Row: RowName(b, key), Reason: failsChecksum}
}

// RowName names a row of a bucket by numbers, ids of records and names of fields. A key with text that people have written, as a
// lookup's, is named by its record, or by a checksum of the key.
func RowName(b engine.Bucket, key []byte) string {
	c := Cutter{Rest: key}
	var name string
	switch {
	case b == MetaBucket && IsMetaKey(key):
		name = string(key)
	case b >= FirstKindBucket:
		if k, ok := record.ByNumber(byte(b - FirstKindBucket)); ok {
			name = recordName(k, key)
		}
	case b == LogBucket:
		name = fmt.Sprint("sequence ", c.Uint64())
	case b == ScopeLogBucket:
		s, rest, err := CutScope(key)
		seq := Cutter{Rest: rest}
		name = fmt.Sprintf("%s, sequence %d", s, seq.Uint64())
		c.Short = seq.Short || err != nil
	case b == LeftBucket || b == TreeBucket || b == BodyBucket:
		if k, id, _, err := CutRecord(key); err == nil {
			name = k.Name + " " + k.FormatID(id)
		}
	case b == LookupBucket:
		if k, ok := record.ByNumber(c.Byte()); ok && len(key) >= k.IDSize() {
			name = recordName(k, key[len(key)-k.IDSize():])
		}
	case b == CodeBucket && len(key) >= 8:
		name = recordName(record.Ticket, key[len(key)-8:])
	case b == AdmissionBucket && len(key) >= 16:
		name = recordName(record.Checkin, key[len(key)-16:])
	case b == LeaseBucket && len(key) >= 2:
		if k, ok := record.ByNumber(key[1]); ok {
			name = fmt.Sprintf("lease of %s ids %x", k.Name, key[2:])
		}
	case b > FreeBucket && b <= FreeLooseBucket:
		name = fmt.Sprintf("free database %d, key %08x", c.Uvarint(), keySum(key))
	}
	if name == "" || c.Short {
		return fmt.Sprintf("key %08x", keySum(key))
	}
	return name
}

// keySum stands for a key that may have text that people have written.
func keySum(key []byte) uint32 { return crc32.Checksum(key, castagnoli) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordName names the record with an id as it lies in keys; "" where it is none.
func recordName(k *record.Kind, key []byte) string {
	if id, ok := k.KeyID(key); ok {
		return k.Name + " " + k.FormatID(id)
	}
	return ""
}

// MaxDamage is how many damaged places a report names. It counts the others.
const MaxDamage = 100

// damages are the places found so far.
type damages struct {
	named []Damage // at most MaxDamage
	count int
}

func (f *damages) add(d Damage) {
	if f.count++; f.count <= MaxDamage {
		f.named = append(f.named, d)
	}
}

// join adds what was found elsewhere.
func (f *damages) join(o damages) {
	f.count += o.count
	f.named = append(f.named, o.named[:min(len(o.named), MaxDamage-len(f.named))]...)
}

// Sound calls fn with each sound row of a bucket under a prefix, in order of the keys. It calls bad, if not nil, with the key of each
// damaged one.
func Sound(r *engine.View, b engine.Bucket, prefix []byte, fn func(key, value []byte), bad func(key []byte)) {
	c := r.Cursor(b)
	for row := c.Seek(prefix); row.Key != nil && bytes.HasPrefix(row.Key, prefix); row = c.Next() {
		value, err := row.Value()
		switch {
		case err == nil:
			fn(row.Key, value)
		case bad != nil:
			bad(row.Key)
		}
	}
}

// HasRow tells whether a row lies under a key, damaged or not.
func HasRow(r *engine.View, b engine.Bucket, key []byte) bool {
	c := r.Cursor(b)
	return bytes.Equal(c.Seek(key).Key, key)
}

// damageReport tells the log of damaged values, and counts them.
type damageReport struct {
	Corrupt prometheus.Counter // reads that met one
	log     *slog.Logger
	found   int // values that were damaged when the store was opened
}

func newDamageReport(log *slog.Logger) damageReport {
	return damageReport{log: log, Corrupt: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "doorward_store_corrupt_reads_total", Help: "Reads that met a value whose checksum fails.",
	})}
}

// Note reports a value that failed its checksum, once for each time that it was met.
func (d *damageReport) Note(err error) {
	if err == nil || !errors.Is(err, engine.ErrCorrupt) {
		return
	}
	d.Corrupt.Inc()
	d.log.Error("a stored value fails its checksum", "cause", err)
}

// Skip is Note for callers that go on without what is damaged. It returns nil for damage, and every other error.
func (d *damageReport) Skip(err error) error {
	if errors.Is(err, engine.ErrCorrupt) {
		d.Note(err)
		return nil
	}
	return err
}

// tell reports what was found damaged when the store was opened.
func (d *damageReport) tell(f damages) {
	d.found = f.count
	d.Corrupt.Add(float64(f.count))
	for _, at := range f.named {
		d.log.Error("a stored value is damaged: it is served to nobody", slog.String("bucket", at.Bucket), slog.String("row", at.Row), slog.String("cause", at.Reason))
	}
	if more := f.count - len(f.named); more > 0 {
		d.log.Error("further stored values are damaged: verify counts them", slog.Int("values", more))
	}
}

// Found is how many damaged values the store met when it was opened. It serves none of them.
func (d *damageReport) Found() int { return d.found }

// ErrDoubtful is the error of a list by home while a damaged record may belong to any home.
func ErrDoubtful(k *record.Kind) error {
	return fmt.Errorf("%w: the home of a damaged %s is not known", engine.ErrCorrupt, k.Name)
}

// ErrUnsure is the error of a list of all records while a damaged one may be deleted: its count is not known.
func ErrUnsure(k *record.Kind) error {
	return fmt.Errorf("%w: whether a damaged %s was deleted is not known", engine.ErrCorrupt, k.Name)
}

// errIdentity is damage to a row that a store needs before it gives an id or a sequence.
type errIdentity struct {
	row   string // of meta
	cause error
}

func (e *errIdentity) Error() string {
	return fmt.Sprintf("meta row %s, by which it knows which store it is and which ids and sequences it has given, cannot be read, and it could give some twice: restore a backup in its place", e.row)
}

func (e *errIdentity) Unwrap() error { return e.cause }

// Identified is the error of reading a row of meta that a store needs to be opened.
func Identified(key []byte, err error) error {
	if errors.Is(err, engine.ErrCorrupt) {
		return &errIdentity{string(key), err}
	}
	return err
}
