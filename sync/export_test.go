package sync

import (
	"time"

	"github.com/go-chi/chi/v5"
)

// LimitIdle sets how long a read or a write of a request may take.
func (s *Server) LimitIdle(d time.Duration) { s.idle = d }

// Routes are those of the router, for tests that ask each of them.
func (s *Server) Routes() chi.Routes { return s.mux }

// LimitSpools sets how many bytes of a body of documents stay in memory, and how many it may have.
func (s *Server) LimitSpools(memory int, most int64) { s.spools.memory, s.spools.most = memory, most }
