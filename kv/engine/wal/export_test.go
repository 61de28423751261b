package wal

// Rotate begins a segment that may have been used before.
func (l *Log) Rotate() error { return l.rotate(0) }
