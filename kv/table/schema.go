package table

import (
	"bytes"
	"doorward/kv/engine"
	"doorward/kv/record"
	"slices"
)

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

// FirstKindBucket is 32. A kind's bucket has this number plus the kind's own.
const FirstKindBucket = engine.Bucket(32)

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

// KindBucket holds a kind's records.
func KindBucket(k *record.Kind) engine.Bucket { return FirstKindBucket + engine.Bucket(k.Number) }

// IsMetaKey tells whether meta may have a key.
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
