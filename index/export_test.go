package index

import (
	"context"

	bleve "github.com/blevesearch/bleve_index_api"

	"doorward/kv"
	"doorward/kv/record"
)

// Flush waits until all that an index has is on disk, for tests that damage it there.
func (x *Index) Flush() error {
	return x.serving.Load().engine.persist(context.Background(), bleve.NewBatch())
}

// Swept waits until no file of an index holds anything that was deleted, or ctx ends.
func (x *Index) Swept(ctx context.Context) error {
	for {
		news := x.rounds.hear()
		if dirty, err := x.serving.Load().engine.dirty(); err != nil || !dirty {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Forge writes a cursor of a store into the index in a folder, and takes a person out of it, behind its back; 0 = nobody.
func Forge(dir string, s *kv.Store, seq uint64, without int64) error {
	e, err := openEngine(dir, false)
	if err != nil {
		return err
	}
	b := bleve.NewBatch()
	b.SetInternal(cursorKey, cursorOf(s, seq).encode())
	if without != 0 {
		b.Delete(documentID(record.Person, record.Int(without)))
	}
	if err := e.persist(context.Background(), b); err != nil {
		return err
	}
	return e.close()
}
