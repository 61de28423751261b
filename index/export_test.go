package index

import (
	"context"

	bleve "github.com/blevesearch/bleve_index_api"
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
