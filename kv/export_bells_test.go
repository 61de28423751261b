package kv

import "runtime"

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
	case <-r.pulled:
		return true
	default:
		return false
	}
}

func heard(s *Store, name string) *rope {
	s.bells.mu.Lock()
	defer s.bells.mu.Unlock()
	return s.bells.ropes[feedName{free: name}]
}

// Listeners is how many bells there are.
func Listeners(s *Store) int {
	s.bells.mu.Lock()
	defer s.bells.mu.Unlock()
	return len(s.bells.ropes)
}
