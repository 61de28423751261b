package rev

import "slices"

// inner tells, by place in nodes, the revisions that have a child.
func (t *Tree) inner() []bool {
	inner := make([]bool, len(t.nodes))
	for i := range t.nodes {
		if p, known := t.index(t.nodes[i].Parent); known {
			inner[p] = true
		}
	}
	return inner
}

// Leaves are the revisions without a child, the winner first: live ones before deleted ones, then by generation and hash,
// the highest first.
func (t *Tree) Leaves() []Node {
	inner := t.inner()
	leaves := make([]Node, 0, 1)
	for i, n := range t.nodes {
		if !inner[i] {
			leaves = append(leaves, n)
		}
	}
	slices.SortFunc(leaves, better)
	return leaves
}

// Winner is the leaf that every replica shows; the zero TreeNode of an empty tree.
func (t *Tree) Winner() Node {
	if len(t.nodes) == 0 {
		return Node{}
	}
	return t.Leaves()[0]
}

// Conflicts are the live leaves besides the winner, the highest first.
func (t *Tree) Conflicts() []Node { return t.losers(false) }

// DeletedConflicts are the deleted leaves besides the winner, the highest first.
func (t *Tree) DeletedConflicts() []Node { return t.losers(true) }

func (t *Tree) losers(deleted bool) []Node {
	if len(t.nodes) < 2 {
		return nil
	}
	return slices.DeleteFunc(t.Leaves()[1:], func(n Node) bool { return n.Deleted != deleted })
}

// Open are the leaves but those that only end a losing branch (Ending), the winner first: more than one is a conflict that
// the root has still to answer (Resolve).
func (t *Tree) Open() []Node {
	return slices.DeleteFunc(t.Leaves(), func(n Node) bool { return n.Ended })
}

// Len is the number of revisions.
func (t *Tree) Len() int { return len(t.nodes) }

// Nodes are all revisions, the lowest first. The list must not be written to.
func (t *Tree) Nodes() []Node { return t.nodes }

// Has tells whether the tree has a revision, leaf or not.
func (t *Tree) Has(rev ID) bool { return t.find(rev) != nil }

// Find is a revision's node; the zero TreeNode where the tree has none.
func (t *Tree) Find(rev ID) Node {
	if n := t.find(rev); n != nil {
		return *n
	}
	return Node{}
}

// Path is a revision and those before it, newest first, as far as they are known: what _revisions says. nil where the tree
// does not have the revision.
func (t *Tree) Path(rev ID) (path []ID) {
	for n := t.find(rev); n != nil; n = t.find(n.Parent) {
		path = append(path, n.Revision)
	}
	return path
}

// Missing answers _revs_diff: which of the revisions the tree does not have, each once, in the order asked for; and where
// there are any the leaves, deleted ones too, of a lower generation than one of these, which may be their ancestors, the
// winner first.
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

// Ancestor is the nearest revision that two have in common: the older one itself where the other follows from it. It is the
// zero TreeNode where the tree knows none.
func (t *Tree) Ancestor(a, b ID) Node {
	if n := t.ancestor(a, b); n != nil {
		return *n
	}
	return Node{}
}

func (t *Tree) ancestor(a, b ID) *Node {
	x, y := t.find(a), t.find(b)
	for x != nil && y != nil && x != y {
		if x.Revision.Generation >= y.Revision.Generation {
			x = t.find(x.Parent)
		} else {
			y = t.find(y.Parent)
		}
	}
	if x == nil || y == nil {
		return nil
	}
	return x
}

// Base is the nearest revision that two have in common and whose body is held; the zero TreeNode where there is none.
func (t *Tree) Base(a, b ID) Node {
	n := t.ancestor(a, b)
	for n != nil && !n.Held {
		n = t.find(n.Parent)
	}
	if n == nil {
		return Node{}
	}
	return *n
}
