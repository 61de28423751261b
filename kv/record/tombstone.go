package record

import (
	"bytes"
	"strings"
)

// A thing that was made twice, as two records, becomes one: the record with the higher id is deleted, and its tombstone names the
// one that stays (sync.md §3). Its canonical body:
//
//	{"merged_into":"ticket:0000000000000005"}
const (
	intoStart = `{"merged_into":"`
	intoEnd   = `"}`
)

// Tombstone is the canonical body of a deletion: "" for one that says nothing, or what the record was merged into.
func Tombstone(k *Kind, into int64) string {
	if into == 0 {
		return ""
	}
	return intoStart + k.DocID(Int(into)) + intoEnd
}

// MergedInto reads the canonical body of a record's tombstone: 0 where it names no record of the kind with a lower id.
func MergedInto(k *Kind, id ID, tombstone []byte) int64 {
	rest, ok := bytes.CutPrefix(tombstone, []byte(intoStart))
	if !ok || k.ULID {
		return 0
	}
	name, ok := strings.CutSuffix(string(rest), intoEnd)
	of, into, isID := ParseDocID(name)
	if !ok || !isID || of != k || into.Compare(id) >= 0 {
		return 0
	}
	return into.Int()
}
