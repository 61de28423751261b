package kv

import (
	"errors"

	"doorward/kv/record"
	"doorward/kv/search"
)

// ErrNoIndex is a Finder's answer while it cannot be asked: the store looks at every record instead.
var ErrNoIndex = errors.New("the search index is not ready")

// ErrIndexing means that a search must wait for its index: without it there is too much to look at.
var ErrIndexing = errors.New("the search index is being built")

// Finder knows where to look for what is searched. It answers candidates only: the store reads each one and decides, so an
// index that is late or wrong costs time and shows nobody what they may not see.
type Finder interface {
	// Find answers at least every record that w asks for as the store was at Found.Upto, or, of a ranked search, at least
	// w.Limit candidates of which no match left out is better than any; ErrNoIndex.
	Find(w Wanted) (Found, error)
}

// Wanted says which records a Finder must name. One of Search and Ranked is set.
type Wanted struct {
	Kind   *record.Kind
	All    bool    // of every home
	Homes  []int64 // otherwise of these, 0 = of none
	Search *search.Terms
	Ranked *search.Ranked
	Keep   func(record.ID) bool // Ranked: a candidate counts only where it answers true; nil = all count
	Limit  int                  // Ranked: this many of the best are enough; an answer of fewer says that there are no more
}

// Found are candidates.
type Found struct {
	IDs  []record.ID // ascending, no id twice
	Upto uint64      // every change of the log up to this sequence has been looked at
}
