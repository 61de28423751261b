package index

import (
	"cmp"
	"slices"
	"strings"

	"doorward/kv/record"
	"doorward/kv/search"

	"github.com/RoaringBitmap/roaring/v2"
)

// tier is how far from what was typed a word of a name may be. They are asked one after the other, each with all that the
// ones before it found, until there are enough: no name of a later one is better than any of an earlier one. The last one has what
// an address begins with besides: the store tells its answers apart.
type tier int

const (
	whole tier = iota
	begins
	joined
	oneEdit
	twoEdits
	alike // by their sounds
	tiers
)

// plenty is how many candidates end the search at the tier that it is in.
const plenty = 2000

// ranked answers the best candidates: whole tiers until there are enough.
func (f *finding) ranked() ([]record.ID, error) {
	if f.Ranked.Empty() {
		return nil, nil
	}
	sets := make([]*typedSets, len(f.parts))
	for i, p := range f.parts {
		var err error
		if sets[i], err = f.typed(p); err != nil {
			return nil, err
		}
	}
	var ids []record.ID
	for t := whole; ; t++ {
		more, err := f.extend(sets, t)
		if err == nil && more {
			ids, err = f.group(sets, func(s *typedSets) (*roaring.Bitmap, error) { return s.found, nil })
		}
		if err != nil {
			return nil, err
		}
		sure := f.certain(t) && !slices.ContainsFunc(sets, (*typedSets).uncertain)
		switch enough := max(plenty, f.Limit); {
		case sure && len(ids) > enough && (t == whole || t == begins && len(f.Ranked.Words) == 1):
			return f.best(sets, t)
		case t+1 == tiers || len(ids) >= enough || sure && len(ids) >= f.Limit:
			return ids, nil // all of them: which are the best is the store's to say
		}
	}
}

// extend finds a tier's documents in each segment. It tells whether there may be more of them than the tier before has found.
func (f *finding) extend(sets []*typedSets, t tier) (more bool, err error) {
	for _, s := range sets {
		added, err := s.extend(f, t)
		if err != nil {
			return false, err
		}
		more = more || added
	}
	return more, nil
}

// kept are the ids that count.
func (f *finding) kept(ids []record.ID) []record.ID {
	if f.Keep == nil {
		return ids
	}
	return slices.DeleteFunc(ids, func(id record.ID) bool { return !f.Keep(id) })
}

// certain tells whether every candidate of a tier is an answer of it: no two typed words can mean one word of the name, and a
// candidate need not have two words side by side.
func (f *finding) certain(t tier) bool {
	if len(f.Ranked.Digits) > 0 || t > begins {
		return false
	}
	for i, a := range f.Ranked.Words {
		if a.Full != "" {
			return false
		}
		for _, b := range f.Ranked.Words[:i] {
			if a.Text == b.Text || t > whole && (strings.HasPrefix(a.Text, b.Text) || strings.HasPrefix(b.Text, a.Text)) {
				return false
			}
		}
	}
	return true
}

// typedSets are, in one segment, the documents in scope that have the typed numbers, and those of each typed word so far.
type typedSets struct {
	*part
	base  *roaring.Bitmap
	words []union
	long  *roaring.Bitmap // documents with a name of too many words
	found *roaring.Bitmap // by the last tier
	prior *roaring.Bitmap // by the one before
}

// union is what is in any of some sets. It is not put together: asking what it shares with a small set takes less.
type union struct {
	sets []*roaring.Bitmap
	size uint64 // of all sets
}

// add adds a set, nil being nothing, and tells whether that is more.
func (u *union) add(set *roaring.Bitmap) bool {
	if set == nil || set.IsEmpty() {
		return false
	}
	u.sets = append(u.sets, set)
	u.size += set.GetCardinality()
	return true
}

// and is what a union shares with a set.
func (u *union) and(other *roaring.Bitmap) *roaring.Bitmap {
	all := new(roaring.Bitmap)
	for i, set := range u.sets {
		if shared := roaring.And(other, set); i == 0 {
			all = shared
		} else {
			all.Or(shared)
		}
	}
	return all
}

// uncertain reports whether a found name has more words than are looked at.
func (s *typedSets) uncertain() bool { return s.found.Intersects(s.long) }

func (f *finding) typed(p *part) (*typedSets, error) {
	base, err := f.scope(p)
	if err != nil {
		return nil, err
	}
	for _, digits := range f.Ranked.Digits {
		set, err := p.ending(digits)
		if err != nil {
			return nil, err
		}
		base = roaring.And(base, set)
	}
	long, err := p.having(wordField, crowded)
	return &typedSets{part: p, base: base, words: make([]union, len(f.Ranked.Words)), long: long}, err
}

// ending are at least the documents with a phone that ends with some digits, or is the end of them where they are a whole one, and
// those with a number, a document number or a word of the name that is them.
func (p *part) ending(digits string) (*roaring.Bitmap, error) {
	said, err := p.having(wordField, digits)
	if err != nil {
		return nil, err
	}
	documents, err := p.having(documentField, digits)
	if err != nil {
		return nil, err
	}
	if n := len(digits); n >= search.WholePhone {
		digits = digits[n-search.TailDigits:]
	}
	ends, err := p.containing(digitField, digits+padding[:1])
	return or(or(ends, said), documents), err
}

// extend finds the documents that have each typed word, at most as far away as a tier says. In the last tier it adds the documents with
// an e-mail address that begins with the typed text. It tells whether there may be more of them than the tier before has found.
func (s *typedSets) extend(f *finding, t tier) (more bool, err error) {
	s.prior = s.found
	if s.base.IsEmpty() { // of other kinds and homes
		s.found = s.base
		return false, nil
	}
	for i := range s.words {
		set, err := f.at(s.part, i, t)
		if err != nil {
			return false, err
		}
		more = s.words[i].add(set) || more
	}
	joined, err := s.joints(f, t)
	if err != nil {
		return false, err
	}
	if more = more || joined || t == whole; more {
		s.found = s.each()
	}
	if text := f.Ranked.Address; text != "" && t == alike {
		set, err := s.containing(gramField, text)
		if err != nil {
			return false, err
		}
		s.found, more = roaring.Or(s.found, roaring.And(s.base, set)), true
	}
	return more, nil
}

// each are the documents that have each typed word, the rarest looked at first.
func (s *typedSets) each() *roaring.Bitmap {
	order := slices.Clone(s.words)
	slices.SortFunc(order, func(a, b union) int { return cmp.Compare(a.size, b.size) })
	all := s.base
	for i := range order {
		all = order[i].and(all)
	}
	return all
}

// joints adds to the sets of two typed words, one behind the other, the documents that have them as one.
func (s *typedSets) joints(f *finding, t tier) (more bool, err error) {
	for _, joint := range f.Ranked.Joints {
		var set *roaring.Bitmap
		switch t {
		case joined:
			set, err = s.beginning(wordField, joint.Text)
		case alike:
			set, err = s.having(soundField, joint.Sound)
		}
		if err != nil {
			return false, err
		}
		for i := joint.First; i <= joint.First+1; i++ {
			more = s.words[i].add(set) || more
		}
	}
	return more, nil
}

// or is what is in either of two sets; nil is nothing.
func or(a, b *roaring.Bitmap) *roaring.Bitmap {
	switch {
	case a == nil:
		return b
	case b == nil || b.IsEmpty():
		return a
	}
	return roaring.Or(a, b)
}

// at are the documents that a tier adds for one typed word; nil = none.
func (f *finding) at(p *part, i int, t tier) (*roaring.Bitmap, error) {
	typed := &f.Ranked.Words[i]
	switch {
	case t == whole && typed.Full != "":
		return p.either(typed.Text, typed.Full)
	case t == whole:
		return p.having(wordField, typed.Text)
	case t == begins:
		return p.beginning(wordField, typed.Text)
	case t == joined:
		return p.joined(typed)
	case t == oneEdit && typed.One:
		return f.near(p, wordField, typed.Text, 1, typed.Begun)
	case t == twoEdits && typed.Two:
		return f.near(p, wordField, typed.Text, 2, false)
	case t == alike && typed.Sound != "":
		return p.alike(typed)
	}
	return nil, nil
}

// either are the documents with one of two words.
func (p *part) either(a, b string) (*roaring.Bitmap, error) {
	some, err := p.having(wordField, a)
	if err != nil {
		return nil, err
	}
	more, err := p.having(wordField, b)
	return or(some, more), err
}

// joined are at least the documents with a name that has a typed word as two words, or that and the particle before it as one.
func (p *part) joined(typed *search.Typed) (all *roaring.Bitmap, err error) {
	if typed.Joined != "" {
		if all, err = p.beginning(wordField, typed.Joined); err != nil {
			return nil, err
		}
	}
	for i := range typed.Parted {
		set, err := p.both(wordField, &typed.Parted[i].Text)
		if err != nil {
			return nil, err
		}
		all = or(all, set)
	}
	return all, nil
}

// alike are at least the documents with a name of which a word, or two, sound as a typed one.
func (p *part) alike(typed *search.Typed) (*roaring.Bitmap, error) {
	all, err := p.having(soundField, typed.Sound)
	for i := range typed.Parted {
		set, err := p.both(soundField, &typed.Parted[i].Sound)
		if err != nil {
			return nil, err
		}
		all = or(all, set)
	}
	return all, err
}

// both are the documents with two terms; nil = none.
func (p *part) both(field string, terms *[2]string) (*roaring.Bitmap, error) {
	d, err := p.dictionary(field)
	if err != nil {
		return nil, err
	}
	for _, term := range terms {
		if has, err := d.Contains([]byte(term)); err != nil || !has { // as a rule
			return nil, err
		}
	}
	a, err := postings(d, terms[0])
	if err != nil {
		return nil, err
	}
	b, err := postings(d, terms[1])
	if err != nil {
		return nil, err
	}
	return roaring.And(a, b), nil
}

// best answers the best of more candidates than may be answered, all of one tier or better: those of the tiers before, then
// names that begin with the first typed word, then the others. In each group the shorter names come first. That is the order in
// which the store will have them, so that what is left out is what it would have left out.
func (f *finding) best(sets []*typedSets, t tier) ([]record.ID, error) {
	ids, err := f.group(sets, func(s *typedSets) (*roaring.Bitmap, error) { return or(s.prior, new(roaring.Bitmap)), nil })
	for _, first := range []bool{true, false} {
		for n := 0; n <= search.MaxWords && len(ids) < f.Limit && err == nil; n++ {
			var some []record.ID
			some, err = f.group(sets, func(s *typedSets) (*roaring.Bitmap, error) { return s.shaped(f.Ranked.Words[0].Text, t, first, n) })
			if !f.Kind.OfHolding() { // of equally good ones the store takes the tickets with the lowest ids, which only it knows
				some = some[:min(len(some), max(0, f.Limit-len(ids)))]
			}
			ids = append(ids, some...)
		}
	}
	slices.SortFunc(ids, record.ID.Compare)
	return ids, err
}

// group are the ids that count of some documents of each segment.
func (f *finding) group(sets []*typedSets, of func(*typedSets) (*roaring.Bitmap, error)) ([]record.ID, error) {
	ids, err := f.collect(func(i int) (*roaring.Bitmap, error) { return of(sets[i]) })
	return f.kept(ids), err
}

// shaped are the documents that a tier has added and that have a name of so many words. first selects the names that begin with word;
// otherwise the names that do not are selected.
func (s *typedSets) shaped(word string, t tier, first bool, words int) (*roaring.Bitmap, error) {
	long, err := s.having(shapeField, countTerm(words))
	if err != nil {
		return nil, err
	}
	begin := s.having
	if t == begins {
		begin = s.beginning
	}
	leading, err := begin(shapeField, word)
	if err != nil {
		return nil, err
	}
	added := roaring.And(s.found, long)
	if s.prior != nil {
		added.AndNot(s.prior)
	}
	if first {
		added.And(leading)
	} else {
		added.AndNot(leading)
	}
	return added, nil
}
