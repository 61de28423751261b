package record

import "math/bits"

// A name may part its words otherwise than they were typed: D'Ávila, D Avila and Davila are one name. A joint is where two words of the
// one are one word of the other.

// joint is two words, typed or of a name, that one word of the other answers.
type joint struct {
	typed uint32 // a bit for each typed word
	name  uint32 // a bit for each word of the name
	cost  int
}

// maxJoints is how many joints of a name are looked at; all ways to choose among them are tried.
const maxJoints = 4

// matching is a search's words beside those of a name.
type matching struct {
	*Ranked
	name   words
	aloud  bool // words that sound alike are answers too
	failed int  // the typed word that nothing answered, while aloud was not set; -1 = each has an answer of its own
	costs  costs
	joints [maxJoints]joint
	n      int // joints
}

// match gives each typed word a word of the name: what that costs, and how many words are left, particles not counted. Words that
// sound alike do not count.
func (m *matching) match() (sum, more int, ok bool) {
	m.failed = -1
	if n := len(m.typed); n == 0 || n > len(m.name.ends) && len(m.Ranked.joints) == 0 {
		return 0, 0, n == 0
	}
	for i := range m.typed {
		if !m.answers(i) {
			m.failed = i
			return 0, 0, false
		}
	}
	return m.total()
}

// matchAloud is match after it has failed, where words that sound alike are answers too.
func (m *matching) matchAloud() (sum, more int, ok bool) {
	if len(m.typed) > len(m.name.ends) && len(m.Ranked.joints) == 0 {
		return 0, 0, false
	}
	m.aloud, m.n = true, 0
	if i := m.failed; i >= 0 {
		if i > 0 {
			m.join(i - 1)
		}
		if !m.answers(i) { // most names end here
			return 0, 0, false
		}
		m.n = 0
	}
	for i := range m.typed {
		if !m.answers(i) {
			return 0, 0, false
		}
	}
	return m.total()
}

// answers puts down what answers a typed word, and tells whether anything does.
func (m *matching) answers(i int) bool {
	alone := m.compare(i)
	return m.join(i) || alone
}

// total is what is best of all that has been put down.
func (m *matching) total() (sum, more int, ok bool) {
	sum, answered, ok := m.least(choice{}, 0)
	for j := range m.name.ends {
		if !particle(m.name.word(j)) {
			more++
		}
	}
	return sum, more - (answered - sum%costNotFirst), ok
}

// compare puts down what it costs to let each word of the name answer a typed one, and tells whether any can.
func (m *matching) compare(i int) (found bool) {
	t := &m.typed[i]
	for j := range m.name.ends {
		word := m.name.word(j)
		cost := t.cost(word)
		if cost == unmatched && m.aloud && t.Sound != "" && soundsAs(word, t.Sound) {
			cost = costSound
		}
		if cost != unmatched {
			found = true
			cost += m.place(i, j)
		}
		m.costs[i][j] = cost
	}
	return found
}

// place is what it costs that a word of the name at j answers the typed one at i.
func (m *matching) place(i, j int) (cost int) {
	if i == 0 && j > 0 {
		cost = costNotFirst
	}
	if particle(m.name.word(j)) {
		cost += costParticle
	}
	return cost
}

// join looks for the joints of a typed word: two words of the name that it is, and words of the name that it is with the next typed
// one. It tells whether there are any, those with the typed word before among them.
func (m *matching) join(i int) bool {
	for j := 0; j+1 < len(m.name.ends) && m.typed[i].Parted != nil; j++ {
		if cost := m.parted(&m.typed[i], j); cost != unmatched {
			cost += m.place(i, j)
			if particle(m.name.word(j + 1)) {
				cost += costParticle
			}
			m.add(joint{1 << i, 3 << j, cost})
		}
	}
	for at := range m.Ranked.joints {
		if t := &m.Ranked.joints[at]; t.First == i {
			for j := range m.name.ends {
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

// parted is what it costs that the words of the name at j and behind it are one typed word.
func (m *matching) parted(t *typed, j int) int {
	a, b := m.name.word(j), m.name.word(j+1)
	if len(a)+len(b) == len(t.runes) && begins(t.runes, a) && begins(t.runes[len(a):], b) {
		return costJoined
	}
	if !m.aloud || t.Sound == "" || !beginsAs(a, t.Sound) {
		return unmatched
	}
	for i := range t.Parted {
		if sound := &t.Parted[i].Sound; soundsAs(a, sound[0]) && soundsAs(b, sound[1]) {
			return costSound
		}
	}
	return unmatched
}

// together is what it costs that the word of the name at j is two typed ones.
func (m *matching) together(t *Joint, j int) int {
	word := m.name.word(j)
	switch {
	case begins(word, t.runes) && len(t.runes) == len(word):
		return costJoined
	case begins(word, t.runes):
		return costJoined + costBegun
	case m.aloud && soundsAs(word, t.Sound):
		return costSound
	}
	return unmatched
}

// choice is some joints that were chosen, none of which share a word.
type choice struct {
	typed, name uint32
	sum         int
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
func (m *matching) least(c choice, from int) (sum, answered int, ok bool) {
	if from == m.n {
		return m.rest(c)
	}
	sum, answered, ok = m.least(c, from+1)
	if with, may := c.with(m.joints[from]); may {
		s, a, found := m.least(with, from+1)
		if found && (!ok || s < sum || s == sum && a > answered) {
			return s, a, true
		}
	}
	return sum, answered, ok
}

// rest gives the typed words that no chosen joint has the words of the name that none has.
func (m *matching) rest(c choice) (sum, answered int, ok bool) {
	table, rows, columns := &m.costs, len(m.typed), len(m.name.ends)
	if c.typed != 0 {
		var left costs
		table, rows, columns = &left, 0, 0
		for i := range m.typed {
			if c.typed&(1<<i) != 0 {
				continue
			}
			columns = 0
			for j := range m.name.ends {
				if c.name&(1<<j) == 0 {
					left[rows][columns] = m.costs[i][j]
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
