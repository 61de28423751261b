package table

// NothingHeld is when an erasure was done of what was not here: it has left no bytes to compact.
const NothingHeld = 1
