package kv

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config says where a store lies and what it lives among. Only Dir is needed.
type Config struct {
	Dir        string
	Clock      func() time.Time      // nil = time.Now
	Zone       *time.Location        // the congregation's timezone; nil = UTC
	Logger     *slog.Logger          // nil = silent
	Registerer prometheus.Registerer // nil = not registered
	Built      time.Time             // the clock is doubted before this moment
}

// Store is one congregation's records in one file.
type Store struct{}

// Open opens the store in a folder, or makes it.
func Open(c Config) (*Store, error) { panic("kv") }

// Close ends the writer after what it has begun and closes the file.
func (s *Store) Close() error { panic("kv") }

// Zone is the congregation's timezone.
func (s *Store) Zone() *time.Location { panic("kv") }

// Now is the store's clock.
func (s *Store) Now() time.Time { panic("kv") }

// Writable answers nil while the store takes writes, otherwise what stopped it.
func (s *Store) Writable() error { panic("kv") }
