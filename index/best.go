package index

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"doorward/kv/record"
	"doorward/kv/search"
)

// best answers the best of more candidates than may be answered, all of one tier or better: those of the tiers before, then
// names that begin with the first typed word, then the others. In each group the shorter names come first. That is the order in
// which the store will have them, so that what is left out is what it would have left out.
func (f *finding) best(sets []*typedSets, t tier) ([]record.ID, error) {
	ids, err := f.group(sets, func(s *typedSets) (*roaring.Bitmap, error) { return or(s.prior, new(roaring.Bitmap)), nil })
	for _, first := range []bool{true, false} {
		for n := 0; n <= search.MaxWords && len(ids) < f.Limit && err == nil; n++ {
			var some []record.ID
			some, err = f.group(sets, func(s *typedSets) (*roaring.Bitmap, error) { return s.shaped(f.Ranked.Words()[0], t, first, n) })
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
