package desk

import (
	"errors"

	"doorward/kv/record"
	"doorward/kv/search"
)

// ErrNoIndex is a Finder's error while it is not ready: the store reads every record instead.
var ErrNoIndex = errors.New("the search index is not ready")

// ErrIndexing means that a search must wait for its index: without it there are too many records to read.
var ErrIndexing = errors.New("the search index is being built")

// Finder knows where to look for what is searched. It returns candidates only. The store reads each candidate and decides, so a
// late or wrong index costs time but shows no record that the principal may not see.
type Finder interface {
	// Find returns at least every record that w asks for as the store was at Found.Upto. A ranked search returns at least
	// w.Limit candidates, and no match that it leaves out is better than any of them. Find returns ErrNoIndex while the index
	// is not ready.
	Find(w Wanted) (Found, error)
}

// Wanted says which records a Finder must name. One of Search and Ranked is set.
type Wanted struct {
	Kind   *record.Kind
	All    bool    // of every home
	Homes  []int64 // otherwise of these, 0 = of none
	Search *search.Terms
	Ranked *search.Ranked
	Keep   func(record.ID) bool // Ranked: a candidate counts only if it returns true; nil = all count
	Limit  int                  // Ranked: this many of the best are enough; if fewer are returned, there are no more
}

// Found are candidates.
type Found struct {
	IDs  []record.ID // ascending, no id twice
	Upto uint64      // every change of the log up to this sequence has been looked at
}
