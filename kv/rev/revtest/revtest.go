// Package revtest draws histories of revisions, and writes revisions and trees short: "3-ab" is generation 3 with a hash that begins with ab.
// Tests of trees and tests of records share it.
package revtest

import (
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"

	"doorward/kv/rev"
)

// Delivery is a path that comes to a store, and what is told of its first revision.
type Delivery struct {
	Path []rev.ID
	Leaf rev.Node
}

// AnyHistory draws the revisions of a record as they were made all over the world, parents before children.
func AnyHistory() *rapid.Generator[[]rev.Node] {
	return rapid.Custom(func(t *rapid.T) []rev.Node {
		out := make([]rev.Node, rapid.IntRange(1, 16).Draw(t, "revisions"))
		for i := range out {
			out[i] = AnyNode().Draw(t, "node")
			out[i].Revision = rev.ID{Generation: rapid.Uint64Range(1, 3).Draw(t, "generation")}
			if i > 0 && rapid.IntRange(0, 5).Draw(t, "root") > 0 {
				out[i].Parent = out[rapid.IntRange(max(0, i-4), i-1).Draw(t, "parent")].Revision
				out[i].Revision.Generation = out[i].Parent.Generation + 1
			}
			if text := rapid.SampledFrom([]string{"", "", "", "a", "\xff", "long "}).Draw(t, "text"); text != "" {
				out[i].Revision.Text = strings.ToValidUTF8(text, "é") + strings.Repeat("x", i)
				continue
			}
			out[i].Revision.Hash = [16]byte{rapid.Byte().Draw(t, "hash"), 15: byte(i)}
		}
		return out
	})
}

// AnyNode draws what is told of a revision.
func AnyNode() *rapid.Generator[rev.Node] {
	return rapid.Custom(func(t *rapid.T) (n rev.Node) {
		n.Deleted = rapid.IntRange(0, 2).Draw(t, "deleted") == 0
		n.Ended = n.Deleted && rapid.Bool().Draw(t, "ended")
		if n.Deleted {
			n.Into = rapid.SampledFrom([]int64{0, 0, 1, 1<<53 - 1}).Draw(t, "into")
		}
		n.Held = rapid.Bool().Draw(t, "held")
		n.At = rapid.Int64().Draw(t, "at")
		n.Key = rapid.Int64Range(0, 300).Draw(t, "key")
		n.Node = rapid.SampledFrom([]ulid.ULID{{}, {1}, {15: 9}}).Draw(t, "node")
		n.Fields = rapid.SliceOfN(rapid.SampledFrom([]string{"email", "phone", "née", ""}), 0, 3).Draw(t, "fields")
		if len(n.Fields) == 0 {
			n.Fields = nil
		}
		return n
	})
}

// AnyDeliveries draws paths of a history, some of them cut, some more than once.
func AnyDeliveries(history []rev.Node) *rapid.Generator[[]Delivery] {
	byRevision := map[rev.ID]rev.Node{}
	for _, n := range history {
		byRevision[n.Revision] = n
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Delivery {
		d := Delivery{Leaf: rapid.SampledFrom(history).Draw(t, "leaf")}
		for n, ok := d.Leaf, true; ok; n, ok = byRevision[n.Parent] {
			d.Path = append(d.Path, n.Revision)
		}
		if rapid.Bool().Draw(t, "cut") {
			d.Path = d.Path[:rapid.IntRange(1, len(d.Path)).Draw(t, "length")]
		}
		return d
	}), 1, 20)
}

// Grafted is the tree that some deliveries make.
func Grafted(t *rapid.T, deliveries []Delivery) *rev.Tree {
	tree := &rev.Tree{}
	for _, d := range deliveries {
		if _, err := tree.Graft(d.Path, d.Leaf); err != nil {
			t.Fatalf("Graft(%v): %v", d.Path, err)
		}
	}
	return tree
}

// Revision reads a revision written short: "3-ab" is generation 3, and a hash that begins with ab.
func Revision(tb testing.TB, short string) rev.ID {
	tb.Helper()
	_, hash, _ := strings.Cut(short, "-")
	rev, ok := rev.Parse(short + strings.Repeat("0", 32-len(hash)))
	if !ok {
		tb.Fatalf("%s is no revision", short)
	}
	return rev
}

// Revisions reads several.
func Revisions(tb testing.TB, short ...string) []rev.ID {
	tb.Helper()
	out := make([]rev.ID, len(short))
	for i, s := range short {
		out[i] = Revision(tb, s)
	}
	return out
}

// Tree grafts paths written short, newest first: "3-c 2-b 1-a". A "!" before one makes its leaf a deleted one, "x" an
// ending.
func Tree(tb testing.TB, paths ...string) *rev.Tree {
	tb.Helper()
	t := &rev.Tree{}
	for _, path := range paths {
		leaf := rev.Node{At: 1, Held: true, Deleted: path[0] == '!' || path[0] == 'x', Ended: path[0] == 'x'}
		if _, err := t.Graft(Revisions(tb, strings.Fields(strings.TrimLeft(path, "!x"))...), leaf); err != nil {
			tb.Fatalf("Graft(%s): %v", path, err)
		}
	}
	return t
}

// Shorts writes the revisions of nodes short.
func Shorts(nodes []rev.Node) string {
	var out []string
	for _, n := range nodes {
		out = append(out, Short(n.Revision))
	}
	return strings.Join(out, " ")
}

// Short writes a revision short.
func Short(rev rev.ID) string { return strings.TrimRight(rev.String(), "0") }
