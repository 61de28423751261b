package engine

// FoldGathering folds as under load: the rows of scattered buckets are gathered.
func (db *DB) FoldGathering() error { return db.folding.foldGathering() }

// Spread writes the gathered rows into their buckets.
func (db *DB) Spread() error {
	db.folding.mu.Lock()
	defer db.folding.mu.Unlock()
	return db.folding.spread()
}

// Gathered is how many rows are gathered.
func (db *DB) Gathered() int {
	if t := db.state.Load().gathered; t != nil {
		return t.rows
	}
	return 0
}
