package index

import (
	"cmp"
	"context"
	"errors"

	bleve "github.com/blevesearch/bleve_index_api"

	"doorward/kv"
	"doorward/kv/record"
)

// Flush waits until all that an index has is on disk, for tests that damage it there.
func (x *Index) Flush() error {
	return x.serving.Load().engine.persist(context.Background(), bleve.NewBatch())
}

// Fail makes an index behave as if a search had met damage in it.
func (x *Index) Fail() {
	if f := x.serving.Load(); f != nil {
		x.breakDown(f, ErrBroken)
	}
}

// Swept waits until no file of an index holds anything that was deleted, or ctx ends.
func (x *Index) Swept(ctx context.Context) error {
	var failed error
	ended := x.news.Await(ctx, func() bool {
		dirty, err := x.serving.Load().engine.dirty()
		failed = err
		return err != nil || !dirty
	})
	return cmp.Or(failed, ended)
}

// Come waits until an index has gone through its chores once more and has a number of documents, or ctx ends.
func (x *Index) Come(ctx context.Context, documents int) error {
	looks := 0 // the first is before the chores
	return x.news.Await(ctx, func() bool {
		looks++
		return looks > 1 && x.Status().Documents == documents
	})
}

// Forge writes a cursor of a store into the index in a folder, and takes a person out of it, without a row of the log; 0 = no person.
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

// Begin makes an empty index in a folder, as a process leaves it that ends before its first batch.
func Begin(dir string) error {
	e, err := openEngine(dir, false)
	if err != nil {
		return err
	}
	return e.close()
}

// WriteAfter opens the index in a folder and makes its segments one, which bleve's own goroutines then leave alone; something is
// done to the file, and a person is taken out.
func WriteAfter(dir string, person int64, done func()) error {
	e, err := openEngine(dir, false)
	if err != nil {
		return err
	}
	if _, err := e.sweep(context.Background()); err != nil {
		return errors.Join(err, e.close())
	}
	done()
	b := bleve.NewBatch()
	b.Delete(documentID(record.Person, record.Int(person)))
	return errors.Join(e.write(b), e.close())
}

// ErrBroken is what says that an index is damaged.
var ErrBroken = errBroken
