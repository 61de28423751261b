package sync

import (
	"time"

	"github.com/go-chi/chi/v5"
)

// LimitIdle sets how long a read or a write of a request may take.
func (s *Server) LimitIdle(d time.Duration) { s.idle = d }

// Routes are those of the router, for tests that ask each of them.
func (s *Server) Routes() chi.Routes { return s.mux }
