package record

// Search is a people search as contract.md §6 promises it: every term must match, in any searched field.
type Search struct{ terms []term }

type term struct{}

// ParseSearch splits what was typed on spaces and commas, "quoted phrases" kept. A search without terms matches everything.
func ParseSearch(q string) *Search { panic("record") }

// Empty tells a search without terms.
func (s *Search) Empty() bool { panic("record") }

// Matches tells whether a record of kind k matches.
func (s *Search) Matches(k *Kind, b Body) bool { panic("record") }
