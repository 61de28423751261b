package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"doorward/kv"
)

// Indexer keeps the index that a Finder looks into.
type Indexer interface {
	// Rebuild builds the index from nothing and answers how many records are in it. Progress is told from any goroutine, and
	// may be told for a moment after Rebuild has returned.
	Rebuild(ctx context.Context, progress func(done, total int)) (documents int, err error)
	// Usable tells whether searches are answered from the index now.
	Usable() bool
}

// errNotIndexed is an index that could not be built. The cause is the operator's to read.
var errNotIndexed = errors.New("the search index could not be built")

// indexed is what a rebuild made.
type indexed struct {
	Documents int `json:"documents"`
}

// step is how far a rebuild is.
type step struct{ done, total int }

func controlReindex(x *exchange, r *http.Request) error {
	by := x.server.config.Indexer
	if by == nil {
		return &kv.Conflict{Reason: "nothing keeps a search index here"}
	}
	var made indexed
	steps, end := make(chan step, 1), make(chan error, 1)
	go func() { // only this handler's own goroutine writes the answer
		var err error
		made.Documents, err = by.Rebuild(r.Context(), func(done, total int) {
			select {
			case steps <- step{done, total}:
			default: // the next one says more
			}
		})
		if err != nil {
			err = fmt.Errorf("%w: %w", errNotIndexed, err)
		}
		end <- err
	}()
	st := newStream(x)
	for {
		select {
		case s := <-steps:
			st.progress(int64(s.done), int64(s.total))
		case err := <-end:
			return st.end(made, err)
		}
	}
}
