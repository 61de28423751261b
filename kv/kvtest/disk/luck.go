package disk

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// Luck decides what of the uncertain has arrived when the power goes: everything before a moment, of what was done at that moment
// some sectors, and of the rest each thing with a chance.
type Luck struct {
	draw   *rand.Rand // nil: nothing is left to chance
	until  int
	chance float64
	torn   bool // writes arrive by sectors, else whole or not at all
	orders bool // names arrive in order, as by a journal
}

// Nothing has arrived of what was not synced.
func Nothing() Luck { return Luck{} }

// Everything has arrived.
func Everything() Luck { return Luck{until: math.MaxInt} }

// Until draws a moment up to which everything has arrived, and what was written then is torn.
func (m *Medium) Until(r *rand.Rand) Luck {
	first := m.at
	for _, i := range m.inodes[1:] {
		if len(i.changes) > 0 {
			first = min(first, i.changes[0].at)
		}
	}
	if len(m.names) > 0 {
		first = min(first, m.names[0].at)
	}
	return Luck{draw: r, until: first + r.IntN(m.at-first+1), torn: true}
}

// Any draws how likely it is for each thing to have arrived, whether whole or in sectors, and whether names keep their order.
func Any(r *rand.Rand) Luck {
	return Luck{draw: r, chance: []float64{0.1, 0.5, 0.9}[r.IntN(3)], torn: r.IntN(2) == 0, orders: r.IntN(2) == 0}
}

// keeps tells whether a thing has arrived.
func (l Luck) keeps(at int) bool {
	return at < l.until || l.chance > 0 && l.draw.Float64() < l.chance
}

// tears tells whether a write arrives by sectors.
func (l Luck) tears(at int) bool {
	return l.torn && at >= l.until && (at == l.until || l.chance > 0)
}

// keepsSector tells whether a sector of a torn write has arrived.
func (l Luck) keepsSector() bool {
	chance := l.chance
	if chance == 0 {
		chance = 0.5 // of the write that the power went in
	}
	return l.draw.Float64() < chance
}

// order is the luck of names. In order, they arrive up to a moment.
func (l Luck) order(names []change) Luck {
	if l.orders && len(names) > 0 {
		l.until, l.chance = names[l.draw.IntN(len(names))].at+l.draw.IntN(2), 0
	}
	return l
}

func sorted(names map[string]int) []string { return slices.Sorted(maps.Keys(names)) }
