package table

var CentreKey = []byte("centre") // in meta: the node of this store's centre

// Centre is the node of this store's centre; "" where it is the root.
func (s *Set) Centre() string { return *s.CentreID.Load() }

func (s *Set) IsLeaf() bool { return s.Centre() != "" }

// IsRevoked tells whether its centre has revoked this laptop. A revoked laptop sells and edits nothing more, and marks its check-ins for review.
func (s *Set) IsRevoked() bool { return s.IsLeaf() && s.Joined.Load().Revoked }
