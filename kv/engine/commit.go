package engine

import (
	"fmt"
	"time"
)

// exclude has the state change by the writer alone until the function that it returns is called. It waits while too much lies above the file. Where there
// is no log the writer changes the file itself, so no rewriting goes on either.
func (db *DB) exclude() (end func()) {
	if db.unlogged {
		db.folding.mu.Lock()
	}
	db.commit.Lock()
	for db.state.Load().bytes() >= doorBytes && db.Stopped() == nil {
		if err := db.folding.wrong; err != nil {
			db.writer.stop(err, nil)
			break
		}
		db.folding.done.Wait()
	}
	return func() {
		db.commit.Unlock()
		if db.unlogged {
			db.folding.mu.Unlock()
		}
	}
}

// write makes a group durable: in the log, or in the file where there is none.
func (db *DB) write(g *group) error {
	if !db.unlogged {
		return db.append(g.record)
	}
	g.table.upTo = db.folded
	g.table.upTo.Sequence = uint64(g.base + 1)
	tx, err := db.apply(g.table)
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	db.touch(g.table)
	db.folded = g.table.upTo
	g.table, g.folded = &table{}, tx
	return nil
}

// publish shows readers a group that is durable.
func (db *DB) publish(g *group) {
	s := db.state.Load()
	if s.rows() == 0 {
		db.folding.since = time.Now()
		db.folding.ring()
	}
	next := &state{file: s.file, tx: max(s.tx, g.folded), tables: append([]*table{g.table}, s.tables[1:]...), sequence: g.base + 1}
	if db.set(next); g.table.bytes >= foldBytes {
		db.folding.ring()
	}
	if next.bytes() >= bulkBytes {
		db.writer.queue.hold(true)
	}
}

// set makes a state the one that readers see, and keeps the room on the disk that its fold will take.
func (db *DB) set(s *state) {
	db.state.Store(s)
	db.room.Reserve(s.reserved(db.path))
}

// touch notes rows that were written into the file while it is rewritten.
func (db *DB) touch(t *table) {
	if db.rewrite.touched != nil {
		db.rewrite.touched.note(t)
	}
}

// unfolded is how many records of the log are not in the file.
func (db *DB) unfolded() int {
	db.commit.Lock()
	defer db.commit.Unlock()
	return db.state.Load().sequence - int(db.folded.Sequence)
}

// segments is how many files the log has.
func (db *DB) segments() int {
	db.commit.Lock()
	defer db.commit.Unlock()
	if db.journal == nil {
		return 0
	}
	live, spare := db.journal.Segments()
	return live + spare
}
