package disk

import (
	"encoding/gob"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// Medium is what a disk's platters hold for certain at one moment of its story, and what else they may hold.
type Medium struct {
	story  []event
	at     int // so much of the story has happened
	inodes []*inode
	names  []change // of named events, since the first that is not certain
}

// inode is a file or folder on the platters.
type inode struct {
	mode    fs.FileMode
	sure    content        // of a file
	names   map[string]int // of a folder
	changes []change       // of a file, since the first that is not certain
}

// change is something that was done and may have got lost.
type change struct {
	event
	at   int
	fate fate
}

// fate is what became of a change.
type fate byte

const (
	cached fate = iota // a sync will save it
	doomed             // a sync has failed to save it, and none will
	saved              // certain, but after something that is not
)

// Medium begins the story of a disk up to now at its beginning.
func (d *Disk) Medium() *Medium {
	d.mu.Lock()
	defer d.mu.Unlock()
	return begin(d.events)
}

func begin(story []event) *Medium {
	m := &Medium{story: story, inodes: []*inode{nil}}
	m.Advance(1) // to where there is a root
	return m
}

// Save writes the whole story down.
func (m *Medium) Save(w io.Writer) error { return gob.NewEncoder(w).Encode(m.story) }

// Load begins a story that was written down.
func Load(r io.Reader) (*Medium, error) {
	var story []event
	err := gob.NewDecoder(r).Decode(&story)
	return begin(story), err
}

// Length is how much there is to tell.
func (m *Medium) Length() int { return len(m.story) }

// Advance goes on to a position of the story.
func (m *Medium) Advance(to int) {
	for ; m.at < to; m.at++ {
		e := m.story[m.at]
		switch e.Do {
		case made:
			i := &inode{mode: e.Mode}
			if e.Mode.IsDir() {
				i.names = map[string]int{}
			}
			m.inodes = append(m.inodes, i)
		case written, cutTo:
			i := m.inodes[e.Inode]
			i.changes = append(i.changes, change{event: e, at: m.at})
		case named:
			m.names = append(m.names, change{event: e, at: m.at})
		case synced:
			m.settle(e, saved)
		case syncFailed:
			m.settle(e, doomed)
		}
	}
}

// settle decides the fate of what was in the cache when a sync began.
func (m *Medium) settle(e event, f fate) {
	i := m.inodes[e.Inode]
	if i.names == nil {
		for n := range i.changes {
			i.changes[n].meet(e, f)
		}
		for len(i.changes) > 0 && i.changes[0].fate == saved {
			i.changes[0].apply(&i.sure)
			i.changes = i.changes[1:]
		}
		return
	}
	for n := range m.names {
		if m.names[n].Names[0].Folder == e.Inode {
			m.names[n].meet(e, f)
		}
	}
	for len(m.names) > 0 && m.names[0].fate == saved {
		for _, b := range m.names[0].Names {
			bind(m.inodes[b.Folder].names, b)
		}
		m.names = m.names[1:]
	}
}

func (c *change) meet(sync event, f fate) {
	if c.at < sync.Before && c.fate == cached {
		c.fate = f
	}
}

// apply does a change whole.
func (c *change) apply(to *content) {
	if c.Do == cutTo {
		to.cut(c.At)
		return
	}
	to.write(c.Data, c.At, nil)
}

func bind(names map[string]int, b binding) {
	if b.Inode == 0 {
		delete(names, b.Name)
		return
	}
	names[b.Name] = b.Inode
}

// Draw is a power cut: it makes of what is certain, and some of what is not, an image.
func (m *Medium) Draw(l Luck) *Image {
	folders := make([]map[string]int, len(m.inodes))
	for n, i := range m.inodes[1:] {
		folders[n+1] = maps.Clone(i.names)
	}
	order := l.order(m.names)
	for _, c := range m.names {
		if c.fate == saved || order.keeps(c.at) {
			for _, b := range c.Names {
				bind(folders[b.Folder], b)
			}
		}
	}
	t := &tracing{medium: m, luck: l, folders: folders, done: map[int]*Image{}}
	return t.trace(1)
}

// tracing follows the names of an image from its root.
type tracing struct {
	medium  *Medium
	luck    Luck
	folders []map[string]int
	done    map[int]*Image
}

func (t *tracing) trace(inode int) *Image {
	if known := t.done[inode]; known != nil {
		return known
	}
	i := t.medium.inodes[inode]
	image := &Image{mode: i.mode}
	t.done[inode] = image
	if i.names == nil {
		image.content = t.draw(i)
		return image
	}
	image.names = map[string]*Image{}
	for _, name := range sorted(t.folders[inode]) {
		image.names[name] = t.trace(t.folders[inode][name])
	}
	return image
}

// draw is what a file holds.
func (t *tracing) draw(i *inode) content {
	c := i.sure.clone() // the story goes on, and the image stays
	for _, change := range i.changes {
		switch {
		case change.fate == saved:
			change.apply(&c)
		case change.Do == cutTo:
			if t.luck.keeps(change.at) {
				change.apply(&c)
			}
		default:
			t.sectors(&c, change)
		}
	}
	return c
}

// sectors puts those sectors of a write on the platters that have arrived.
func (t *tracing) sectors(c *content, w change) {
	if !t.luck.tears(w.at) {
		if t.luck.keeps(w.at) {
			w.apply(c)
		}
		return
	}
	for from := int64(0); from < int64(len(w.Data)); {
		end := min(int64(len(w.Data)), SectorSize*((w.At+from)/SectorSize+1)-w.At)
		if t.luck.keepsSector() {
			c.write(w.Data[from:end], w.At+from, nil)
		}
		from = end
	}
}

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
