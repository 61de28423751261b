package kv

// BoardBehind is how far a board that has read up to a sequence takes itself to be behind another.
func BoardBehind(upto, seq uint64) uint64 { return (&board{upto: upto}).behind(seq) }
