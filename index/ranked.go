package index

import (
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"doorward/kv/record"
)

// tier is how far from what was typed a word of a name may be. They are asked one after the other, each with all that the
// ones before it found, until there are enough: no name of a later one is better than any of an earlier one.
type tier int

const (
	whole tier = iota
	begins
	oneEdit
	twoEdits
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
	for t := whole; ; t++ {
		ids, err := f.collect(func(i int) (*roaring.Bitmap, error) { return sets[i].within(f, t) })
		if err != nil {
			return nil, err
		}
		ids = f.kept(ids)
		sure := f.certain(t) && !slices.ContainsFunc(sets, (*typedSets).uncertain)
		switch enough := max(plenty, f.Limit); {
		case sure && len(ids) > enough && (t == whole || t == begins && len(f.Ranked.Words()) == 1):
			return f.best(sets, t)
		case t+1 == tiers || len(ids) >= enough || sure && len(ids) >= f.Limit:
			return ids, nil // all of them: which are the best is the store's to say
		}
	}
}

// kept are the ids that count.
func (f *finding) kept(ids []record.ID) []record.ID {
	if f.Keep == nil {
		return ids
	}
	return slices.DeleteFunc(ids, func(id record.ID) bool { return !f.Keep(id) })
}

// certain tells whether every candidate of a tier is an answer of it: no two typed words can mean one word of the name.
func (f *finding) certain(t tier) bool {
	words := f.Ranked.Words()
	if len(f.Ranked.Digits()) > 0 || t > begins && len(words) > 1 {
		return false
	}
	for i, a := range words {
		for _, b := range words[:i] {
			if a == b || t > whole && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
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
	words []*roaring.Bitmap
	long  *roaring.Bitmap // those whose names have too many words
	found *roaring.Bitmap // by the last tier
	prior *roaring.Bitmap // by the one before
}

// uncertain tells whether a name was found whose words are not all looked at.
func (s *typedSets) uncertain() bool { return s.found.Intersects(s.long) }

func (f *finding) typed(p *part) (*typedSets, error) {
	base, err := f.scope(p)
	if err != nil {
		return nil, err
	}
	for _, digits := range f.Ranked.Digits() {
		set, err := p.ending(digits)
		if err != nil {
			return nil, err
		}
		base = roaring.And(base, set)
	}
	long, err := p.having(wordField, crowded)
	return &typedSets{part: p, base: base, words: make([]*roaring.Bitmap, len(f.Ranked.Words())), long: long}, err
}

// ending are at least the documents with a phone that ends with some digits, or is the end of them where they are a whole one, and
// those with a number or a word of the name that is them.
func (p *part) ending(digits string) (*roaring.Bitmap, error) {
	said, err := p.having(wordField, digits)
	if err != nil {
		return nil, err
	}
	if n := len(digits); n >= record.WholePhone {
		digits = digits[n-record.TailDigits:]
	}
	ends, err := p.containing(digitField, digits+padding[:1])
	return or(ends, said), err
}

// within are the documents that have each typed word, at most that far away.
func (s *typedSets) within(f *finding, t tier) (*roaring.Bitmap, error) {
	all := s.base
	for i, word := range f.Ranked.Words() {
		if s.base.IsEmpty() {
			break // of other kinds and homes
		}
		set, err := f.at(s.part, word, t)
		if err != nil {
			return nil, err
		}
		s.words[i] = or(s.words[i], set)
		all = roaring.And(all, s.words[i])
	}
	s.prior, s.found = s.found, all
	return all, nil
}

// or is what is in either of two sets; nil is nothing.
func or(a, b *roaring.Bitmap) *roaring.Bitmap {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return roaring.Or(a, b)
}

// at are the documents that a tier adds for one typed word; nil = none.
func (f *finding) at(p *part, word string, t tier) (*roaring.Bitmap, error) {
	forgiven := record.ForgivenIn(word)
	switch {
	case t == whole:
		return p.having(wordField, word)
	case t == begins:
		return p.beginning(wordField, word)
	case t == oneEdit && forgiven.One:
		return f.near(p, word, 1, forgiven.Begun)
	case t == twoEdits && forgiven.Two:
		return f.near(p, word, 2, false)
	}
	return nil, nil
}
