package sync

import "time"

// LimitIdle sets how long a read or a write of a request may take.
func (s *Server) LimitIdle(d time.Duration) { s.idle = d }
