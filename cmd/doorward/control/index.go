package control

import (
	"context"

	"doorward/api"
	"doorward/index"
)

// searchIndex is the search index as api wants it kept.
type searchIndex struct{ *index.Index }

// Rebuild builds the index again and returns the number of records in it.
func (s searchIndex) Rebuild(ctx context.Context, progress func(done, total int)) (documents int, err error) {
	if err := s.Index.Rebuild(ctx, progress); err != nil {
		return 0, err
	}
	return s.Status().Documents, nil
}

// Usable reports whether searches are answered from the index now.
func (s searchIndex) Usable() bool { return s.Status().Usable }

// JoinIndex opens a search index and has it answer a server's searches. end closes it. Without an index searches look at every record.
func JoinIndex(c *api.Config, of index.Config) (end func()) {
	x, err := index.Open(of)
	if err != nil {
		of.Logger.Error("there is no search index; searches look at every record", "error", err)
		return func() {}
	}
	c.Finder, c.Indexer = x, searchIndex{x}
	return x.Close
}
