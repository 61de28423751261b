package kv

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// limits keep a hostile client from filling the disk or making others wait. No honest client reaches them. Beyond a limit the
// store returns *Forbidden.
type limits struct {
	refusals allowance // of documents that are kept for staff, for each key
	leases   allowance // of ranges of ids, for each key
	leaves   int       // of one record or document that others may branch further: a push reads them all
	hashes   int       // bytes of the texts that are hashes of one document's revisions: each edit writes them all
	checkins int       // of one code that laptops bring
	undone   int       // check-ins of one code, beyond which none is undone at a door: a decision reads them all
	locals   int       // local documents of a key in one database
}

// allowance is how much of something a key may have kept in a time.
type allowance struct {
	of            string // what its row is called
	number, bytes int
	per           time.Duration
}

// honest is the one table.
var honest = limits{
	refusals: allowance{of: "refusals", number: 50_000, bytes: 64 << 20, per: 30 * 24 * time.Hour},
	leases:   allowance{of: "leases", number: 10_000, bytes: 1 << 20, per: 30 * 24 * time.Hour},
	leaves:   500,
	hashes:   1 << 20,
	checkins: 1_000,
	undone:   100,
	locals:   10_000,
}

// spentBy is in meta: what a key has spent of an allowance. since 8, number uv, bytes uv, beyond it uv.
func (a allowance) spentBy(key int64) []byte { return []byte(a.of + "/" + strconv.FormatInt(key, 10)) }

// spend takes one item of size bytes off a key's allowance. If the allowance is used up, it counts the attempt. first tells that this is
// the first attempt beyond the allowance.
func spend(o *op, key int64, a allowance, size int) (ok, first bool, err error) {
	row, err := o.Get(metaBucket, a.spentBy(key))
	if err != nil {
		return false, false, err
	}
	c := cutter{rest: row}
	since, number, used, beyond := int64(c.uint64()), c.uvarint(), c.uvarint(), c.uvarint()
	if age := o.now.Sub(time.UnixMicro(since)); row == nil || c.short || age < 0 || age >= a.per {
		since, number, used, beyond = o.now.UnixMicro(), 0, 0, 0
	}
	if ok = number < uint64(a.number) && used+uint64(size) <= uint64(a.bytes); ok {
		number, used = number+1, used+uint64(size)
	} else {
		beyond++
	}
	row = binary.AppendUvarint(binary.BigEndian.AppendUint64(nil, uint64(since)), number)
	o.put(metaBucket, a.spentBy(key), binary.AppendUvarint(binary.AppendUvarint(row, used), beyond))
	return ok, beyond == 1, nil
}

// maxBrought is the largest generation that others bring: as many again follow, our own among them, before there is none left.
const maxBrought = rev.MaxGeneration / 2

// mayBranch returns a *Forbidden for a path that would give a tree one leaf too many, or a revision that no other could follow.
// A path that continues from a leaf adds no leaf.
func (l *limits) mayBranch(t *rev.Tree, path []rev.ID) error {
	if len(path) > 0 && path[0].Generation > maxBrought {
		return refused("no revision could follow this one")
	}
	if textsOf(t, path) > l.hashes {
		return refused("the hashes of the document's revisions are too long")
	}
	if t.Len() < l.leaves || len(path) == 0 {
		return nil
	}
	leaves := t.Leaves()
	for _, leaf := range leaves {
		if slices.Contains(path[1:], leaf.Revision) {
			return nil
		}
	}
	if len(leaves) < l.leaves {
		return nil
	}
	return refused("the document has too many conflicting revisions")
}

// textsOf is how many bytes the hashes take that are texts, in a tree and in what it may keep of a path.
func textsOf(t *rev.Tree, path []rev.ID) (size int) {
	for i := range t.Nodes() {
		size += len(t.Nodes()[i].Revision.Text)
	}
	for _, rev := range path[:min(len(path), RevsLimit)] {
		size += len(rev.Text)
	}
	return size
}

// fewer returns a *Forbidden if a bucket has as many rows with a prefix as it may have.
func fewer(v *sight, b bucket, prefix []byte, limit int, reason string) error {
	n := 0
	err := v.Scan(b, prefix, nil, func(key, _ []byte) (bool, error) {
		n++
		return n < limit && bytes.HasPrefix(key, prefix), nil
	})
	if err == nil && n >= limit {
		err = refused(reason)
	}
	return err
}

// mayBringCheckin returns a *Forbidden if a code has as many check-ins as laptops may bring.
func mayBringCheckin(o *op, d *record.Doc) error {
	letter := byte(byCode)
	if d.Text("direction") == string(Out) {
		letter = byCodeOut
	}
	of := codeRows([]byte{letter}, d.Int("event_id"), hashOf(d.Value("code_hash")), d.Text("list"))
	return fewer(o.sight, admissionBucket, of, o.store.limits.checkins, "the code has been checked in too often")
}
