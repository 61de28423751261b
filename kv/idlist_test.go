package kv_test

import (
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv"
)

// TestIDListIsASortedSlice compares a list with a slice under drawn edits, some of which are given up, and wants no edit to change what was published.
func TestIDListIsASortedSlice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type version struct {
			list kv.IDList
			want []int64
		}
		var list kv.IDList
		var want []int64
		var published []version
		for edit := range uint64(rapid.IntRange(1, 12).Draw(t, "edits")) {
			before := version{list, want}
			list = list.Edit(edit + 1)
			want = slices.Clone(want)
			for range rapid.IntRange(1, 4).Draw(t, "runs") {
				from, n := rapid.Int64Range(1, 6000).Draw(t, "from"), rapid.Int64Range(1, 1500).Draw(t, "n")
				step := rapid.SampledFrom([]int64{1, 2, 3, -1}).Draw(t, "step")
				insert := rapid.IntRange(0, 2).Draw(t, "insert") > 0
				for i := range n {
					id := max(1, from+i*step)
					at, found := slices.BinarySearch(want, id)
					switch {
					case insert:
						list.Insert(id)
						if !found {
							want = slices.Insert(want, at, id)
						}
					default:
						list.Remove(id)
						if found {
							want = slices.Delete(want, at, at+1)
						}
					}
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "refused") == 0 && edit > 0 {
				list, want = before.list, before.want
				continue
			}
			published = append(published, version{list, want})
		}
		for _, v := range published {
			compareList(t, v.list, v.want)
		}
	})
}

func compareList(t *rapid.T, list kv.IDList, want []int64) {
	if got := list.Page(0, 1<<20); list.Len() != len(want) || !slices.Equal(got, want) {
		t.Fatalf("a list of %d holds %d ids, want %d", list.Len(), len(got), len(want))
	}
	for range 20 {
		id := rapid.Int64Range(0, 8000).Draw(t, "id")
		at := sort.Search(len(want), func(i int) bool { return want[i] >= id })
		if got := list.Rank(id); got != at {
			t.Fatalf("Rank(%d) = %d, want %d", id, got, at)
		}
		if got := list.Contains(id); got != (at < len(want) && want[at] == id) {
			t.Fatalf("Contains(%d) = %v", id, got)
		}
		offset, limit := rapid.IntRange(0, 7000).Draw(t, "offset"), rapid.IntRange(0, 1200).Draw(t, "limit")
		from, to := min(offset, len(want)), min(offset+limit, len(want))
		if got := list.Page(offset, limit); !slices.Equal(got, want[from:to]) {
			t.Fatalf("Page(%d, %d) has %d ids, want %d", offset, limit, len(got), to-from)
		}
		if offset < len(want) && list.At(offset) != want[offset] {
			t.Fatalf("At(%d) = %d, want %d", offset, list.At(offset), want[offset])
		}
	}
}
