package api

import "github.com/go-chi/chi/v5"

// Routes are those of the router, for tests that ask each of them.
func (s *Server) Routes() chi.Routes { return s.router.mux }
