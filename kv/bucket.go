package kv

import (
	"doorward/kv/engine"
	"doorward/kv/record"
)

// The buckets. Their numbers are part of each checksum and are never used again.
const (
	metaBucket       bucket = iota // format, realm, node, epoch, code key; the writer's state
	logBucket                      // seq → kind, id, revision, deleted
	lookupBucket                   // kind, field name, value, id → nothing
	codeBucket                     // form, code hash, event, ticket → nothing
	admissionBucket                // by code or by ticket, list, hlc, check-in → nothing
	onceBucket                     // idempotency key → the kept answer
	onceExpiryBucket               // time, idempotency key → nothing
	freeBucket                     // free database's name → its id and counts
	freeDocBucket                  // database, document → sequence, revision tree
	freeBodyBucket                 // database, document, revision → attachments, JSON
	freeLogBucket                  // database, seq → document
	freeLocalBucket                // database, api key, id → a local document
	freeBlobBucket                 // database, SHA-256 → upload, length, MD5
	freeChunkBucket                // database, upload, number → up to 64 KiB
	freeRefBucket                  // database, SHA-256, document, revision → nothing
	freeLooseBucket                // database, time, upload → SHA-256 of a blob that no revision may need
	treeBucket                     // kind, id → the record's revision tree, unless its header says it all
	bodyBucket                     // kind, id, revision → a body that is not the record's present one
	scopeLogBucket                 // scope, seq → kind, id, revision, deleted, removed
	leftBucket                     // kind, id, scope that it left → seq
	leaseBucket                    // given, taken: kind, first id → last id, holder; what is left
	opaqueBucket                   // scope, document of an unknown kind → seq, tree
	opaqueBodyBucket               // scope, document, revision → JSON
	erasedBucket                   // keyed hash of a record's id → how far its erasure is
	twinBucket                     // what merged records were known by; what they were merged into
	readsBucket                    // minute, api key, kind → how many records of people it was shown
	formerBucket                   // ticket, person who held it once → since when no more
	mirrorBucket                   // kind, id → the record as it was pulled; what is pulled from
	namedBuckets                   // how many the above are
)

// Kinds have the numbers from here on: 32 plus a kind's own.
const firstKindBucket = bucket(32)

// schema has the buckets' names in the file.
var schema = newSchema()

func newSchema() (s engine.Schema) {
	for b, name := range [namedBuckets]string{"meta", "log", "lookup", "code", "admission", "once", "once_expiry",
		"free", "free_doc", "free_body", "free_log", "free_local", "free_blob", "free_chunk", "free_ref", "free_loose",
		"tree", "body", "scope_log", "left", "lease", "opaque", "opaque_body", "erased", "twin", "reads", "former", "mirror"} {
		s[b].Name = name
	}
	s[metaBucket].IsKey = isMetaKey
	s[logBucket].Fill = engine.TailFill
	s[lookupBucket].Fill, s[scopeLogBucket].Fill = engine.RangeFill, engine.RangeFill
	for _, k := range record.Kinds() {
		s[kindBucket(k)] = engine.Def{Name: "kind:" + k.Name, Fill: engine.TailFill}
	}
	return s
}

// kindBucket holds a kind's records.
func kindBucket(k *record.Kind) bucket { return firstKindBucket + bucket(k.Number) }
