package kv

import "doorward/kv/door"

// BoardBehind is how far a board that has read up to a sequence takes itself to be behind another.
func BoardBehind(upto, seq uint64) uint64 { return (&door.Board{Upto: upto}).Behind(seq) }
