package rev

import "slices"

// nodes are a tree's nodes, by generation and then by hash, so that a parent stands before its children.
type nodes []Node

// find returns a revision's node, or nil. The node is good until the nodes change.
func (ns nodes) find(rev ID) *Node {
	if i, ok := ns.index(rev); ok {
		return &ns[i]
	}
	return nil
}

// index returns the place of a revision, or the place that it would have. Most of a tree's time is spent here. It compares in place,
// because nodes are large.
func (ns nodes) index(rev ID) (i int, known bool) {
	i, after := 0, len(ns)
	for i < after {
		middle := int(uint(i+after) >> 1)
		if ns[middle].Revision.Compare(rev) < 0 {
			i = middle + 1
		} else {
			after = middle
		}
	}
	return i, i < len(ns) && ns[i].Revision == rev
}

// with returns the nodes with some more. Mostly it is one more.
func (ns nodes) with(fresh []Node) nodes {
	switch {
	case len(fresh) == 0:
		return ns
	case len(ns) == 0 && len(fresh) == 1:
		return fresh
	case len(fresh) == 1:
		i, _ := ns.index(fresh[0].Revision)
		return slices.Insert(ns, i, fresh[0])
	}
	ns = append(ns, fresh...)
	slices.SortFunc(ns, func(a, b Node) int { return a.Revision.Compare(b.Revision) })
	return ns
}

// inner reports, by place, the revisions that have a child.
func (ns nodes) inner() []bool {
	inner := make([]bool, len(ns))
	for i := range ns {
		if p, known := ns.index(ns[i].Parent); known {
			inner[p] = true
		}
	}
	return inner
}

// leaves returns the nodes without a child, the winner first.
func (ns nodes) leaves() []Node {
	inner := ns.inner()
	leaves := make([]Node, 0, 1)
	for i, n := range ns {
		if !inner[i] {
			leaves = append(leaves, n)
		}
	}
	slices.SortFunc(leaves, better)
	return leaves
}

// losers returns the leaves behind the winner that are deleted, or those that are not.
func (ns nodes) losers(deleted bool) []Node {
	if len(ns) < 2 {
		return nil
	}
	return slices.DeleteFunc(ns.leaves()[1:], func(n Node) bool { return n.Deleted != deleted })
}

func (ns nodes) ancestor(a, b ID) *Node {
	x, y := ns.find(a), ns.find(b)
	for x != nil && y != nil && x != y {
		if x.Revision.Generation >= y.Revision.Generation {
			x = ns.find(x.Parent)
		} else {
			y = ns.find(y.Parent)
		}
	}
	if x == nil || y == nil {
		return nil
	}
	return x
}
