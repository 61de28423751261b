package table

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"time"

	"doorward/kv/engine"
	"doorward/kv/outcome"
	"doorward/kv/rev"
)

// Limits keep a hostile client from filling the disk and from making others wait. An honest client stays below them. Beyond a limit
// the store returns *Forbidden.
type Limits struct {
	Refusals allowance // of documents that are kept for staff, for each key
	Leases   allowance // of ranges of ids, for each key
	Leaves   int       // of one record or document that others may branch further: a push reads them all
	hashes   int       // bytes of the texts that are hashes of one document's revisions: each edit writes them all
	Checkins int       // of one code that laptops bring
	Undone   int       // check-ins of one code, beyond which none is undone at a door: a decision reads them all
	Locals   int       // local documents of a key in one database
	LetIn    allowance // of guests whom the phone of a revoked key has let in and this store refuses, for each key
	Free     int64     // bytes that the rows of one free database may take
}

// allowance is how much a key may store within a time.
type allowance struct {
	of            string // the name of its row
	Number, Bytes int
	per           time.Duration
}

// honest are the limits of every store.
var honest = Limits{
	Refusals: allowance{of: "refusals", Number: 50_000, Bytes: 64 << 20, per: 30 * 24 * time.Hour},
	Leases:   allowance{of: "leases", Number: 10_000, Bytes: 1 << 20, per: 30 * 24 * time.Hour},
	Leaves:   500,
	hashes:   1 << 20,
	Checkins: 1_000,
	Undone:   100,
	Locals:   10_000,
	LetIn:    allowance{of: "let_in", Number: 200, per: 30 * 24 * time.Hour},
	Free:     DefaultFreeQuota,
}

// DefaultFreeQuota is how many bytes the rows of one free database may take unless Config says another number.
const DefaultFreeQuota = 256 << 20

// spentBy is the row in meta with the used part of a key's allowance: since 8, number uv, bytes uv, refused uv.
func (a allowance) spentBy(key int64) []byte { return []byte(a.of + "/" + strconv.FormatInt(key, 10)) }

// Spend takes one item of size bytes off a key's allowance. If the allowance is used up, it counts the attempt. first tells that this is
// the first attempt beyond the allowance.
func Spend(o *Tx, key int64, a allowance, size int) (ok, first bool, err error) {
	row, err := o.Get(MetaBucket, a.spentBy(key))
	if err != nil {
		return false, false, err
	}
	c := Cutter{Rest: row}
	since, number, used, beyond := int64(c.Uint64()), c.Uvarint(), c.Uvarint(), c.Uvarint()
	if age := o.Now.Sub(time.UnixMicro(since)); row == nil || c.Short || age < 0 || age >= a.per {
		since, number, used, beyond = o.Now.UnixMicro(), 0, 0, 0
	}
	if ok = number < uint64(a.Number) && used+uint64(size) <= uint64(a.Bytes); ok {
		number, used = number+1, used+uint64(size)
	} else {
		beyond++
	}
	row = binary.AppendUvarint(binary.BigEndian.AppendUint64(nil, uint64(since)), number)
	o.Put(MetaBucket, a.spentBy(key), binary.AppendUvarint(binary.AppendUvarint(row, used), beyond))
	return ok, beyond == 1, nil
}

// maxBrought is the largest generation that other nodes may send. It leaves as many generations for later changes.
const maxBrought = rev.MaxGeneration / 2

// MayBranch returns a *Forbidden for a path that would give a tree one leaf too many, or a revision that no other could follow.
// A path that continues from a leaf adds no leaf.
func (l *Limits) MayBranch(t *rev.Tree, path []rev.ID) error {
	if len(path) > 0 && path[0].Generation > maxBrought {
		return Refused("no revision could follow this one")
	}
	if textsOf(t, path) > l.hashes {
		return Refused("the hashes of the document's revisions are too long")
	}
	if t.Len() < l.Leaves || len(path) == 0 {
		return nil
	}
	leaves := t.Leaves()
	continues := func(leaf rev.Node) bool { return slices.Contains(path[1:], leaf.Revision) }
	if len(leaves) < l.Leaves || slices.ContainsFunc(leaves, continues) {
		return nil
	}
	return Refused("the document has too many conflicting revisions")
}

// textsOf is the length of all textual hashes in a tree and in the part of a path that the tree would keep.
func textsOf(t *rev.Tree, path []rev.ID) (size int) {
	for i := range t.Nodes() {
		size += len(t.Nodes()[i].Revision.Text)
	}
	for _, rev := range path[:min(len(path), RevsLimit)] {
		size += len(rev.Text)
	}
	return size
}

// Fewer returns a *Forbidden if a bucket has limit or more rows under a prefix.
func Fewer(v *View, b engine.Bucket, prefix []byte, limit int, reason string) error {
	n := 0
	err := v.Scan(b, prefix, nil, func(_, _ []byte) (bool, error) {
		n++
		return n < limit, nil
	})
	if err == nil && n >= limit {
		err = Refused(reason)
	}
	return err
}

// A refusal is written with its answer, but not each: equal ones within a minute count once, and one key writes at most
// sixty a minute (design.md §2). What is not written is still answered and counted in the metric.
const (
	refusalQuiet  = time.Minute
	refusalsAKey  = 60
	refusalMemory = 4096 // remembered refusals before old ones are forgotten
)

// doorMemory holds the refusals of the last minute. Only the writer uses it.
type doorMemory struct {
	seen map[RefusalKey]time.Time
	keys map[int64]*refusalCount
}

type RefusalKey struct {
	Event   int64
	Door    string
	Code    CodeHash
	Outcome outcome.Outcome
}

type refusalCount struct {
	since time.Time
	n     int
}

// Note tells whether to write a refusal, and remembers it.
func (m *doorMemory) Note(key RefusalKey, api int64, now time.Time) bool {
	if m.seen == nil || len(m.seen) >= refusalMemory {
		m.forget(now)
	}
	if last, ok := m.seen[key]; ok && now.Sub(last) < refusalQuiet && !now.Before(last) {
		return false
	}
	count := m.keys[api]
	if count == nil || now.Sub(count.since) >= refusalQuiet || now.Before(count.since) {
		count = &refusalCount{since: now}
		m.keys[api] = count
	}
	if count.n >= refusalsAKey {
		return false
	}
	count.n++
	m.seen[key] = now
	return true
}

// forget drops refusals that are over a minute old. If too many are left, it drops all.
func (m *doorMemory) forget(now time.Time) {
	maps.DeleteFunc(m.seen, func(_ RefusalKey, last time.Time) bool { return now.Sub(last) >= refusalQuiet || now.Before(last) })
	if m.seen == nil || len(m.seen) >= refusalMemory {
		m.seen = make(map[RefusalKey]time.Time)
	}
	if m.keys == nil || len(m.keys) >= refusalMemory {
		m.keys = make(map[int64]*refusalCount)
	}
}
