package search

import (
	"math"
)

// A search's words are given to the words of a name so that each of them serves one and the whole costs least.

// How much of a search and of a name is compared.
const (
	maxTyped = 16
	MaxWords = 32
)

// unmatched is more than any match can cost.
const unmatched = 1 << 33

// farthest is more than any path can cost.
const farthest = math.MaxInt64

// costs is what it costs to let a word of a name, second, answer a typed word, first.
type costs [maxTyped][MaxWords]int64

// least is the smallest sum for n typed words and m words of a name, of which there are as many at least; false where some
// typed word cannot be answered.
func (c *costs) least(n, m int) (sum int64, ok bool) {
	var taken uint32
	for i := range n {
		best := 0
		for j := 1; j < m; j++ {
			if c[i][j] < c[i][best] {
				best = j
			}
		}
		if c[i][best] >= unmatched {
			return 0, false
		}
		if taken&(1<<best) != 0 {
			return c.assign(n, m) // two want the same
		}
		taken |= 1 << best
		sum += c[i][best]
	}
	return sum, true
}

// assign is least by the Hungarian method: one typed word after the other takes a word of the name. If another typed word has it, that
// one takes another, along the path that raises the sum least. Column 0 is the typed word that has no place yet.
func (c *costs) assign(n, m int) (sum int64, ok bool) {
	var row [maxTyped + 1]int64 // what each typed word pays above its share
	var col [MaxWords + 1]int64 // what each word of the name costs more because others want it
	var held [MaxWords + 1]int  // the typed word that holds it, 0 = none; both count from 1
	for i := 1; i <= n; i++ {
		held[0] = i
		c.place(m, &row, &col, &held)
	}
	for j := 1; j <= m; j++ {
		if held[j] > 0 {
			sum += c[held[j]-1][j-1]
		}
	}
	return sum, sum < unmatched
}

// place finds room for the typed word in column 0.
func (c *costs) place(m int, row *[maxTyped + 1]int64, col *[MaxWords + 1]int64, held *[MaxWords + 1]int) {
	var least [MaxWords + 1]int64
	var from [MaxWords + 1]int
	var seen [MaxWords + 1]bool
	for j := range least {
		least[j] = farthest
	}
	at := 0
	for held[at] != 0 {
		seen[at] = true
		i, next, step := held[at], 0, int64(farthest)
		for j := 1; j <= m; j++ {
			if seen[j] {
				continue
			}
			if more := c[i-1][j-1] - row[i] - col[j]; more < least[j] {
				least[j], from[j] = more, at
			}
			if least[j] < step {
				step, next = least[j], j
			}
		}
		for j := 0; j <= m; j++ {
			if seen[j] {
				row[held[j]] += step
				col[j] -= step
			} else {
				least[j] -= step
			}
		}
		at = next
	}
	for at != 0 {
		held[at] = held[from[at]]
		at = from[at]
	}
}

// near reports whether what was typed is at most so many edits from a word, or, begun, from a beginning of it. An edit is a
// letter more, less or other, or two neighbours swapped; no letter is edited twice.
func near(typed, word []rune, edits int, begun bool) bool {
	if more := len(typed) - len(word); more > edits || !begun && -more > edits {
		return false
	}
	for len(typed) > 0 && len(word) > 0 && typed[0] == word[0] {
		typed, word = typed[1:], word[1:]
	}
	switch {
	case len(typed) == 0, len(word) == 0:
		return true // what is left of the other are edits few enough, or not begun
	case edits == 0:
		return false
	}
	return near(typed[1:], word[1:], edits-1, begun) ||
		near(typed, word[1:], edits-1, begun) ||
		near(typed[1:], word, edits-1, begun) ||
		swapped(typed, word) && near(typed[2:], word[2:], edits-1, begun)
}

// swapped reports whether two texts begin with the same two letters the other way round.
func swapped(a, b []rune) bool {
	return len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0]
}
