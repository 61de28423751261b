package api

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"unicode/utf8"

	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/idempotency"
)

// castagnoli is the table of the checksum in an ETag.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entityTag is a reply's ETag: its revision, and a checksum of its bytes, because derived members change without a revision.
func entityTag(rep entry.Reply) string {
	sum := crc32.Checksum(rep.JSON, castagnoli)
	tag := make([]byte, 0, len(rep.Revision)+11)
	tag = append(append(append(tag, '"'), rep.Revision...), '.')
	tag = hex.AppendEncode(tag, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return string(append(tag, '"'))
}

// tags lists the entity tags of If-Match or If-None-Match, weak ones with their mark.
func tags(values []string) []string {
	var list []string
	for _, v := range values {
		for tag := range strings.SplitSeq(v, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				list = append(list, tag)
			}
		}
	}
	return list
}

// unchanged tells whether If-None-Match names the reply.
func unchanged(x *exchange, tag string) bool {
	given := x.request.Header["If-None-Match"]
	return len(given) > 0 && slices.ContainsFunc(tags(given), func(t string) bool {
		return t == "*" || strings.TrimPrefix(t, "W/") == tag
	})
}

// revisionOf returns the revision in a strong entity tag; ok is false for a weak or malformed tag, which matches no revision.
func revisionOf(tag string) (revision string, ok bool) {
	tag, opened := strings.CutPrefix(tag, `"`)
	tag, closed := strings.CutSuffix(tag, `"`)
	revision, _, _ = strings.Cut(tag, ".")
	return revision, opened && closed && revision != ""
}

// ifMatch lists the revisions that a change requires; nil = any revision. A header that is not blank and names no revision gives an empty
// list, which no record meets.
func ifMatch(x *exchange) []string {
	values := x.request.Header["If-Match"]
	given := tags(values)
	if strings.TrimSpace(strings.Join(values, "")) == "" || slices.Contains(given, "*") {
		return nil
	}
	revisions := make([]string, 0, len(given))
	for _, tag := range given {
		if revision, ok := revisionOf(tag); ok {
			revisions = append(revisions, revision)
		}
	}
	return revisions
}

// The longest values of the headers that the store keeps.
const (
	maxIdempotency = 255
	maxDoor        = 64
)

// storedHeader reads a header of limited length; an empty one counts as absent.
func storedHeader(x *exchange, name string, limit int, faults *fault.ByField) string {
	v := strings.TrimSpace(x.request.Header.Get(name))
	switch {
	case !utf8.ValidString(v):
		faults.Add(name, fault.NotString)
	case utf8.RuneCountInString(v) > limit:
		faults.Add(name, fault.TooLong(limit))
	default:
		return v
	}
	return ""
}

// idempotencyKey is the value of Idempotency-Key or its alias.
func idempotencyKey(x *exchange, faults *fault.ByField) string {
	if v := storedHeader(x, "Idempotency-Key", maxIdempotency, faults); v != "" {
		return v
	}
	return storedHeader(x, "X-Idempotency-Key", maxIdempotency, faults)
}

// once returns what the store needs to do a request only once; nil without an Idempotency-Key. The same value belongs to another request if
// the api key, the method or the path is another.
func once(x *exchange, body []byte, faults *fault.ByField) *idempotency.Request {
	value := idempotencyKey(x, faults)
	if value == "" {
		return nil
	}
	name := fmt.Sprintf("%d\x00%s\x00%s\x00%s", x.caller.Key(), x.request.Method, x.path(), value)
	return &idempotency.Request{Key: sha256.Sum256([]byte(name)), Body: sha256.Sum256(body)}
}

// markReplayed marks an answer that was given before.
func markReplayed(x *exchange, again bool) {
	if again {
		x.Header()["Idempotency-Replayed"] = yes
	}
}
