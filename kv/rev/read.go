package rev

import "slices"

// Leaves returns the revisions without a child, the winner first: live before deleted, then the higher generation, then the higher
// hash.
func (t *Tree) Leaves() []Node {
	return t.nodes.leaves()
}

// Winner returns the leaf that every replica shows. It is the zero Node if the tree is empty.
func (t *Tree) Winner() Node {
	if len(t.nodes) == 0 {
		return Node{}
	}
	return t.Leaves()[0]
}

// Conflicts returns the live leaves without the winner, the highest first.
func (t *Tree) Conflicts() []Node { return t.nodes.losers(false) }

// DeletedConflicts returns the deleted leaves without the winner, the highest first.
func (t *Tree) DeletedConflicts() []Node { return t.nodes.losers(true) }

// Open returns the leaves, the winner first, without those that only end a branch (Ending). If there is more than one, the root has a
// conflict to resolve.
func (t *Tree) Open() []Node {
	return slices.DeleteFunc(t.Leaves(), func(n Node) bool { return n.Ended })
}

// Len returns the number of revisions.
func (t *Tree) Len() int { return len(t.nodes) }

// Nodes returns all revisions, the lowest first. The caller must not write to the list.
func (t *Tree) Nodes() []Node { return t.nodes }

// Has reports whether the tree has a revision.
func (t *Tree) Has(rev ID) bool { return t.nodes.find(rev) != nil }

// Find returns a revision's node. It is the zero Node if the tree has none.
func (t *Tree) Find(rev ID) Node {
	if n := t.nodes.find(rev); n != nil {
		return *n
	}
	return Node{}
}

// Path returns a revision and its known ancestors, newest first, as _revisions lists them. It is nil if the tree does not have the
// revision.
func (t *Tree) Path(rev ID) (path []ID) {
	for n := t.nodes.find(rev); n != nil; n = t.nodes.find(n.Parent) {
		path = append(path, n.Revision)
	}
	return path
}

// Missing answers _revs_diff: it returns the revisions that the tree does not have, each once, in the order asked for. If there are
// any, possibleAncestors are the leaves, deleted ones too, of a lower generation than one of them, the winner first.
func (t *Tree) Missing(revs []ID) (missing, possibleAncestors []ID) {
	seen := make(map[ID]bool, len(revs))
	highest := uint64(0)
	for _, rev := range revs {
		if t.Has(rev) || seen[rev] {
			continue
		}
		seen[rev] = true
		missing = append(missing, rev)
		highest = max(highest, rev.Generation)
	}
	if len(missing) == 0 {
		return nil, nil
	}
	for _, leaf := range t.Leaves() {
		if leaf.Revision.Generation < highest {
			possibleAncestors = append(possibleAncestors, leaf.Revision)
		}
	}
	return missing, possibleAncestors
}

// Ancestor returns the nearest common revision of two: the older one itself if the other follows from it. It is the zero Node if the
// tree knows none.
func (t *Tree) Ancestor(a, b ID) Node {
	if n := t.nodes.ancestor(a, b); n != nil {
		return *n
	}
	return Node{}
}

// Base returns the nearest common revision of two that has its body held. It is the zero Node if there is none.
func (t *Tree) Base(a, b ID) Node {
	n := t.nodes.ancestor(a, b)
	for n != nil && !n.Held {
		n = t.nodes.find(n.Parent)
	}
	if n == nil {
		return Node{}
	}
	return *n
}
