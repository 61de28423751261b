package kv

import (
	"bytes"
	"slices"

	"doorward/kv/record"
)

// bucket names one of the file's buckets. Its number goes into every checksum, so a row that strays into another bucket
// is noticed; numbers are never reused.
type bucket byte

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
const (
	firstKindBucket = bucket(32)
	numBuckets      = 64
)

// bucketNames are the buckets' names in the file; nil where there is no such bucket.
var bucketNames = nameBuckets()

func nameBuckets() (names [numBuckets][]byte) {
	for b, name := range [namedBuckets]string{"meta", "log", "lookup", "code", "admission", "once", "once_expiry",
		"free", "free_doc", "free_body", "free_log", "free_local", "free_blob", "free_chunk", "free_ref", "free_loose",
		"tree", "body", "scope_log", "left", "lease", "opaque", "opaque_body", "erased", "twin", "reads", "former", "mirror"} {
		names[b] = []byte(name)
	}
	for _, k := range record.Kinds() {
		names[kindBucket(k)] = []byte("kind:" + k.Name)
	}
	return names
}

// bucketNamed finds a bucket by its name in the file; one that a later version has made is not known.
func bucketNamed(name []byte) (b bucket, known bool) {
	at := slices.IndexFunc(bucketNames[:], func(n []byte) bool { return bytes.Equal(n, name) })
	return bucket(max(0, at)), at >= 0
}

// kindBucket holds a kind's records.
func kindBucket(k *record.Kind) bucket { return firstKindBucket + bucket(k.Number) }
