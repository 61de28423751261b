package search

import (
	"math/bits"

	"doorward/kv/names"
)

// A name may part its words otherwise than they were typed: D'Ávila, D Avila and Davila are one name. A joint is where two words of the
// one are one word of the other.

// joint is two words, typed or of a name, that one word of the other answers.
type joint struct {
	typed uint32 // a bit for each typed word
	name  uint32 // a bit for each word of the name
	cost  int64
}

// maxJoints is how many joints of a name are looked at; all ways to choose among them are tried.
const maxJoints = 4

// matching is a search's words beside those of a name.
type matching struct {
	*Ranked
	name   names.List
	failed int            // the typed word that no spelling answered; -1 = each has an answer of its own
	aloud  bool           // words that sound alike are answers too
	first  [MaxWords]rune // where aloud: the first sound of each word of the name
	joints [maxJoints]joint
	n      int // joints
}

// match gives each typed word a word of the name: what that costs, and how many words are left, particles not counted. Words that
// sound alike do not count.
func (m *matching) match() (sum int64, more int, ok bool) {
	m.failed = -1
	if n := len(m.Words); n == 0 || !m.mayHave(n) {
		return 0, 0, n == 0
	}
	if !m.begun() { // most names end here
		m.failed = 0
		return 0, 0, false
	}
	return m.total()
}

// mayHave reports whether a name has enough words for so many typed ones.
func (m *matching) mayHave(typed int) bool {
	return typed <= len(m.name.Ends) || len(m.Joints) > 0
}

// matchAloud is match after it has failed, where words that sound alike are answers too.
func (m *matching) matchAloud() (sum int64, more int, ok bool) {
	if !m.mayHave(len(m.Words)) {
		return 0, 0, false
	}
	m.aloud = true
	for j := range m.name.Ends {
		m.first[j] = names.FirstSound(m.name.Word(j))
	}
	if m.failed >= 0 && !m.heard(m.failed) { // as above
		return 0, 0, false
	}
	return m.total()
}

// begun reports whether anything is spelled so that it answers the first typed word.
func (m *matching) begun() bool {
	t := &m.Words[0]
	for j := range m.name.Ends {
		if t.cost(m.name.Word(j)) != unmatched || m.isParted(t, j) {
			return true
		}
	}
	for at := range m.Joints {
		if t := &m.Joints[at]; t.First == 0 {
			for j := range m.name.Ends {
				if names.Begins(m.name.Word(j), t.runes) {
					return true
				}
			}
		}
	}
	return false
}

// heard reports whether anything sounds so that it answers a typed word.
func (m *matching) heard(i int) bool {
	t := &m.Words[i]
	for j := range m.name.Ends {
		if m.sounds(t, j) || m.soundsParted(t, j) {
			return true
		}
	}
	for at := range m.Joints {
		if t := &m.Joints[at]; t.First == i || t.First+1 == i {
			for j := range m.name.Ends {
				if m.soundsTogether(t, j) {
					return true
				}
			}
		}
	}
	return false
}

// total is what is best of all that may answer.
func (m *matching) total() (sum int64, more int, ok bool) {
	var c costs
	m.n = 0
	for i := range m.Words {
		if alone := m.compare(i, &c[i]); !m.join(i) && !alone {
			m.failed = i
			return 0, 0, false
		}
	}
	sum, answered, ok := m.least(&c, choice{}, 0)
	for j := range m.name.Ends {
		if !names.IsParticleRunes(m.name.Word(j)) {
			more++
		}
	}
	return sum, more - (answered - int(sum%costNotFirst)), ok
}

// compare puts down what it costs to let each word of the name answer a typed one, and tells whether any can.
func (m *matching) compare(i int, row *[MaxWords]int64) (found bool) {
	t := &m.Words[i]
	for j := range m.name.Ends {
		cost := t.cost(m.name.Word(j))
		if cost == unmatched && m.sounds(t, j) {
			cost = costSound
		}
		if cost != unmatched {
			cost += m.place(i, j)
			found = true
		}
		row[j] = cost
	}
	return found
}

// place is what it costs that a word of the name at j answers the typed one at i.
func (m *matching) place(i, j int) (cost int64) {
	if i == 0 && j > 0 {
		cost = costNotFirst
	}
	if names.IsParticleRunes(m.name.Word(j)) {
		cost += costParticle
	}
	return cost
}

// join puts down the joints of a typed word: two words of the name that it is, and words of the name that it is with the next one. It
// tells whether the word has any, those with the one before among them.
func (m *matching) join(i int) bool {
	t := &m.Words[i]
	for j := range m.name.Ends {
		cost := int64(unmatched)
		switch {
		case m.isParted(t, j):
			cost = costJoined
		case m.soundsParted(t, j):
			cost = costSound
		default:
			continue
		}
		if names.IsParticleRunes(m.name.Word(j + 1)) {
			cost += costParticle
		}
		m.add(joint{1 << i, 3 << j, cost + m.place(i, j)})
	}
	for at := range m.Joints {
		if t := &m.Joints[at]; t.First == i {
			for j := range m.name.Ends {
				if cost := m.together(t, j); cost != unmatched {
					m.add(joint{3 << i, 1 << j, cost + m.place(i, j)})
				}
			}
		}
	}
	for _, found := range m.joints[:m.n] {
		if found.typed&(1<<i) != 0 {
			return true
		}
	}
	return false
}

// add keeps a joint where there is room.
func (m *matching) add(j joint) {
	if m.n < maxJoints {
		m.joints[m.n] = j
		m.n++
	}
}

// isParted reports whether the words of the name at j and behind it are one typed word.
func (m *matching) isParted(t *Typed, j int) bool {
	if t.Parted == nil || j+1 >= len(m.name.Ends) {
		return false
	}
	a, b := m.name.Word(j), m.name.Word(j+1)
	return len(a)+len(b) == len(t.runes) && names.Begins(t.runes, a) && names.Begins(t.runes[len(a):], b)
}

// together is what it costs that the word of the name at j is two typed ones.
func (m *matching) together(t *Joint, j int) int64 {
	word := m.name.Word(j)
	switch {
	case names.Begins(word, t.runes) && len(t.runes) == len(word):
		return costJoined
	case names.Begins(word, t.runes):
		return costJoined + costBegun
	case m.soundsTogether(t, j):
		return costSound
	}
	return unmatched
}

// sounds reports whether the word of the name at j sounds as a typed one.
func (m *matching) sounds(t *Typed, j int) bool {
	return m.aloud && m.first[j] == t.first && names.SoundsAs(m.name.Word(j), t.Sound)
}

// soundsParted reports whether the words of the name at j and behind it sound as one typed word that is parted.
func (m *matching) soundsParted(t *Typed, j int) bool {
	if !m.aloud || m.first[j] != t.first || t.Parted == nil || j+1 >= len(m.name.Ends) {
		return false
	}
	var keys [2][48]rune
	a, b := names.AppendSound(keys[0][:0], m.name.Word(j)), names.AppendSound(keys[1][:0], m.name.Word(j+1))
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	for i := range t.Parted {
		if sound := &t.Parted[i].Sound; names.Spells(a, sound[0]) && names.Spells(b, sound[1]) {
			return true
		}
	}
	return false
}

// soundsTogether reports whether the word of the name at j sounds as two typed ones.
func (m *matching) soundsTogether(t *Joint, j int) bool {
	return m.aloud && m.first[j] == t.first && names.SoundsAs(m.name.Word(j), t.Sound)
}

// choice is some joints that were chosen, none of which share a word.
type choice struct {
	typed, name uint32
	sum         int64
	answered    int // words of the name
}

// with is a choice with one joint more; false where that shares a word with the others.
func (c choice) with(j joint) (choice, bool) {
	if c.typed&j.typed|c.name&j.name != 0 {
		return c, false
	}
	return choice{c.typed | j.typed, c.name | j.name, c.sum + j.cost, c.answered + bits.OnesCount32(j.name)}, true
}

// least is the smallest sum of what is chosen, any of the joints from one on, and single words for all that is left; and how many words
// of the name that answers.
func (m *matching) least(all *costs, c choice, from int) (sum int64, answered int, ok bool) {
	if from == m.n {
		return m.rest(all, c)
	}
	sum, answered, ok = m.least(all, c, from+1)
	if with, may := c.with(m.joints[from]); may {
		s, a, found := m.least(all, with, from+1)
		if found && (!ok || s < sum || s == sum && a > answered) {
			return s, a, true
		}
	}
	return sum, answered, ok
}

// rest gives the typed words that no chosen joint has the words of the name that none has.
func (m *matching) rest(all *costs, c choice) (sum int64, answered int, ok bool) {
	table, rows, columns := all, len(m.Words), len(m.name.Ends)
	if c.typed != 0 {
		var left costs
		table, rows, columns = &left, 0, 0
		for i := range m.Words {
			if c.typed&(1<<i) != 0 {
				continue
			}
			columns = 0
			for j := range m.name.Ends {
				if c.name&(1<<j) == 0 {
					left[rows][columns] = all[i][j]
					columns++
				}
			}
			rows++
		}
	}
	if rows == 0 {
		return c.sum, c.answered, true
	}
	if rows > columns {
		return 0, 0, false
	}
	sum, ok = table.least(rows, columns)
	return c.sum + sum, c.answered + rows, ok
}
