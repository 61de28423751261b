package main

import "fmt"

// sound refuses numbers that cannot be meant: less than none would be none, which switches something off.
func (s *serving) sound() error {
	switch {
	case s.api.AuthFailures < 0:
		return usageError{fmt.Errorf("--auth-failures %d: a number from 0 on is wanted; 0 = no limit", s.api.AuthFailures)}
	case s.ending.delay < 0:
		return usageError{fmt.Errorf("--shutdown-delay %s: a time from 0 on is wanted", s.ending.delay)}
	case s.overAfter < 0:
		return usageError{fmt.Errorf("--drop-after %s: a time from 0 on is wanted; 0 = never", s.overAfter)}
	}
	return nil
}
