package engine

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"go.etcd.io/bbolt"

	"doorward/kv/disk"
)

// In a scattered bucket nearly each new row lies in another page, so a fold would write a page for each row. Under load a fold gathers these rows
// instead: it writes them one behind the other into a bucket of the engine's own, and keeps them in a table, which lies above the file and below
// what is not folded. Once there are many, they are spread: written into their own buckets, where several of them share a page. A fold that does not
// gather spreads first, because a gathered row covers the row in its bucket.
//
//	bucket "gathered"   sequence of the fold 8 │ number 4   rows, as a record of the log has them (tx.go) │ CRC32C 4
var gatheredBucket = []byte("gathered")

const (
	gatheredBytes = 8 << 20  // of memory: from here on the rows are spread
	gatheredPart  = 32 << 10 // of one value in the file
	spreadRows    = 8000     // of one transaction: bbolt holds a page for nearly each until it has written them
	gatheredFrom  = 96 << 20 // of the file: in a smaller one the rows share pages as they are
)

// gathering takes the rows of scattered buckets while a table is folded.
type gathering struct {
	table *table   // the rows that were gathered before, and after put those of this fold too
	parts [][]byte // the rows of this fold
}

// gather begins a gathering on top of the rows that are gathered.
func (s *state) gather() *gathering {
	if s.gathered == nil {
		return &gathering{table: &table{}}
	}
	return &gathering{table: s.gathered.copy()}
}

// take takes a row. It is copied, because the table that it comes from shares the memory of much larger records.
func (g *gathering) take(b Bucket, it *item) {
	n := len(g.parts) - 1
	if n < 0 || len(g.parts[n])+len(it.row) > gatheredPart {
		g.parts = append(g.parts, make([]byte, 0, gatheredPart+itemBytes))
		n++
	}
	g.parts[n] = appendRow(g.parts[n], b, it.name(), it.sealed())
}

// put adds the rows to the table and writes them into the file, in the transaction that moves its mark to upTo. There may be no gathering.
func (g *gathering) put(tx *bbolt.Tx, upTo mark) (err error) {
	if g == nil || len(g.parts) == 0 {
		return nil
	}
	b := tx.Bucket(gatheredBucket)
	for i := 0; i < len(g.parts) && err == nil; i++ {
		key := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, upTo.Sequence), uint32(i))
		if err = g.table.add(g.parts[i]); err == nil {
			err = b.Put(key, binary.BigEndian.AppendUint32(g.parts[i], gatheredSum(key, g.parts[i])))
		}
	}
	return err
}

func gatheredSum(key, rows []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, rows)
}

// readGathered reads the gathered rows of a file; nil = there are none. With the error of damaged ones it returns the rest.
func readGathered(tx *bbolt.Tx) (t *table, err error) {
	b := tx.Bucket(gatheredBucket)
	if b == nil {
		return nil, nil
	}
	failed := b.ForEach(func(key, value []byte) error {
		rows, bad := unsealGathered(key, value)
		if t == nil && bad == nil {
			t = &table{}
		}
		if bad == nil {
			bad = t.add(append([]byte(nil), rows...))
		}
		err = cmp.Or(err, bad)
		return nil
	})
	return t, cmp.Or(err, failed)
}

// unsealGathered checks a value and takes its checksum off.
func unsealGathered(key, value []byte) (rows []byte, err error) {
	n := len(value) - checksumSize
	if n < 0 || binary.BigEndian.Uint32(value[n:]) != gatheredSum(key, value[:n]) {
		return nil, fmt.Errorf("%w: rows that wait to be written into their buckets", ErrCorrupt)
	}
	return value[:n:n], nil
}

// dropGathered removes the gathered rows from a file, which has them in their own buckets now.
func dropGathered(tx *bbolt.Tx) error {
	err := tx.DeleteBucket(gatheredBucket)
	if err == nil {
		_, err = tx.CreateBucket(gatheredBucket)
	}
	return err
}

// foldDue folds because it is time. Where that is because much was written it gathers.
func (f *folding) foldDue() error {
	s := f.state.Load()
	if s.active().bytes < foldBytes || s.gathered == nil && disk.Size(f.path) < gatheredFrom {
		return f.fold()
	}
	return f.foldGathering()
}

// foldGathering folds and gathers. While the file is being rewritten it does not gather, because only the rows of buckets are carried over into the next file.
func (f *folding) foldGathering() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.state.Load()
	if f.touched != nil || s.gathered != nil && s.gathered.bytes >= gatheredBytes {
		if err := f.spread(); err != nil {
			return err
		}
	}
	if f.touched != nil {
		return f.foldTable(nil)
	}
	return f.foldTable(f.state.Load().gather())
}

// spread writes the gathered rows into their own buckets. The table covers them until the last of its transactions. The caller holds mu.
func (f *folding) spread() error {
	t := f.state.Load().gathered
	if t == nil {
		return nil
	}
	if err := f.stopErr(); err != nil {
		return err
	}
	start, rows := time.Now(), t.feed()
	rows.most = spreadRows
	tx, err := f.apply(rows, nil, dropGathered)
	f.change.Lock()
	defer f.change.Unlock()
	if err := f.conclude(err); err != nil {
		return err
	}
	s := *f.state.Load()
	active, frozen := s.active(), s.frozen()
	s.tx, s.gathered = tx, nil
	s.setTables(active, frozen)
	f.set(&s)
	f.touch(t)
	f.metrics.gatheredSpread(t, time.Since(start))
	return nil
}
