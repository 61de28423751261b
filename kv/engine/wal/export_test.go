package wal

import "os"

// Rotate begins a segment that may have been used before.
func (l *Log) Rotate() error { return l.rotate(0) }

// PutBeneath puts another file in the place of the segment that is written.
func (l *Log) PutBeneath(f *os.File) error {
	s := l.last()
	err := s.close()
	s.file = f
	return err
}
