package merge

import "doorward/kv/auth"

// Verb says what a revision does to its record. A record that the writer cannot know is none.
func (a *Arrival) Verb() auth.Verb {
	switch {
	case a.Doc == nil:
		return auth.Delete
	case a.Before == nil || a.Unseen:
		if a.Kind.Fact && (len(a.Path) > 1 || a.Path[0].Generation != 1) {
			return auth.Change
		}
		return auth.Make
	case a.Before.Deleted:
		return auth.Remake
	}
	return auth.Change
}
