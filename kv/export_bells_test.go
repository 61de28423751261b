package kv

import (
	"runtime"

	"doorward/kv/table"
)

// AwaitListener returns once somebody waits for a free database's changes.
func AwaitListener(s *Store, name string) {
	for heard(s, name) == nil {
		runtime.Gosched()
	}
}

// Rung tells whether the bell has been rung of those who wait for a free database's changes.
func Rung(s *Store, name string) bool {
	r := heard(s, name)
	if r == nil {
		return true
	}
	select {
	case <-r.Pulled:
		return true
	default:
		return false
	}
}

func heard(s *Store, name string) *table.Rope {
	s.Tables.Bells.Mu.Lock()
	defer s.Tables.Bells.Mu.Unlock()
	return s.Tables.Bells.Ropes[table.FeedName{Free: name}]
}

// Listeners is how many bells there are.
func Listeners(s *Store) int {
	s.Tables.Bells.Mu.Lock()
	defer s.Tables.Bells.Mu.Unlock()
	return len(s.Tables.Bells.Ropes)
}
