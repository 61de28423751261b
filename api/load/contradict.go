package load

import (
	"hash/maphash"

	"doorward/api/load/cells"
	"doorward/api/load/columns"
	"doorward/api/load/kinds"
	"doorward/api/load/sheet"
)

// Two rows may give one code different states, for example a sale and its refund. The file does not say which one counts, so neither row is taken.

const faultTwoStates = "the same code stands in several lines, with different states"

// contradictions are the codes of different states, as hashes under one seed.
type contradictions struct {
	seed  maphash.Seed
	codes map[uint64]bool
}

// contradict reads the table once more, if a code stands in it twice.
func (t *tableFile) contradict() error {
	if len(t.ly.Deciders) == 0 || !t.repeatsCodes() {
		return nil
	}
	t.twice = contradictions{maphash.MakeSeed(), map[uint64]bool{}}
	said := map[uint64]int8{}
	return t.each(func(row sheet.Row) {
		code := t.twice.hash(t.ly, row.Texts)
		state := int8(t.ly.Strictest(row.Texts, t.src.States))
		if before, ok := said[code]; ok && before != state {
			t.twice.codes[code] = true
		}
		said[code] = state
	})
}

func (t *tableFile) repeatsCodes() bool {
	for _, f := range t.ly.Feeds {
		if f.Name != kinds.Code {
			continue
		}
		p := &t.ly.Profiles[f.Parts[0][0]]
		return len(f.Columns()) > 1 || p.Unique == nil || len(p.Unique) < p.Filled
	}
	return false
}

// hash stands for a row's code, and its event where a column names one.
func (c *contradictions) hash(ly *columns.Layout, texts []string) uint64 {
	return maphash.String(c.seed, ly.Cell(kinds.Event, texts)+"\x00"+cells.WithoutFormat(cells.Clean(ly.Cell(kinds.Code, texts))))
}

// has tells a row of one of these codes.
func (c *contradictions) has(ly *columns.Layout, texts []string) bool {
	return len(c.codes) > 0 && c.codes[c.hash(ly, texts)]
}
