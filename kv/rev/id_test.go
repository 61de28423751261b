package rev_test

import (
	"strconv"
	"strings"
	"testing"

	"doorward/kv/rev"
)

// The revisions of this file are what two versions of the program, or two programs, must agree on. They may be added to and must
// never be changed.

func TestGoldenRevisions(t *testing.T) {
	first := rev.Next(rev.ID{}, false, []byte(`{"name":"Sé"}`))
	second := rev.Next(first, false, []byte(`{"name":"Central"}`))
	for _, row := range []struct {
		name string
		got  rev.ID
		want string
	}{
		{"first", first, "1-c8b6cd07ec0eb53251dfb96f12088d95"},
		{"second", second, "2-fd747b4be2353439e6fae9337dc423c2"},
		{"tombstone", rev.Next(second, true, []byte(`{}`)), "3-990aaf330a62e83ebeee2078d37f7ab7"},
		{"alive, else the same", rev.Next(second, false, []byte(`{}`)), "3-055887cfd1d13dd5d8156c5080ee0417"},
	} {
		if got := row.got.String(); got != row.want {
			t.Errorf("%s = %s, want %s", row.name, got, row.want)
		}
		if back, ok := rev.Parse(row.got.String()); !ok || back != row.got {
			t.Errorf("ParseRevision(%s) = %v, %t", row.got, back, ok)
		}
	}
	for _, bad := range []string{"1", "1-", "0-" + first.String()[2:], "01-" + first.String()[2:], "1-" + "G" + first.String()[3:], "+1-" + first.String()[2:], first.String() + "0"} {
		if r, ok := rev.Parse(bad); ok {
			t.Errorf("ParseRevision(%s) = %v", bad, r)
		}
	}
}

// TestFreeRevisions: a free document's revision has the hash that its server gave it; of a record's the same text is none.
func TestFreeRevisions(t *testing.T) {
	hex := strings.Repeat("0f", 16)
	for _, good := range []string{"1-a", "2-x", "1-", "10-a-b", "1-" + hex + "0", "1-" + hex[1:], "3-" + strings.Repeat("long", 2048), `1-"é" \`, "1-G"} {
		revision2, ok := rev.ParseFree(good)
		if !ok || revision2.String() != good || revision2.String() != strconv.FormatUint(revision2.Generation, 10)+"-"+revision2.HashText() {
			t.Errorf("ParseFreeRevision(%.50s) = %.50s, %t", good, revision2, ok)
		}
		again := rev.ID{Generation: revision2.Generation}
		if !again.SetHash(revision2.AppendHash(nil)) || again != revision2 {
			t.Errorf("%.50s is %.50s once it was written", good, again)
		}
		if of, ok := rev.Parse(good); ok {
			t.Errorf("ParseRevision(%.50s) = %s", good, of)
		}
	}
	if rev, ok := rev.ParseFree("1-" + strings.ToUpper(hex)); !ok || rev.String() != "1-"+hex {
		t.Errorf("upper-case digits are %s, %t", rev, ok)
	}
	for _, bad := range []string{"1", "0-a", "-a", "01-a", "+1-a", "x-a", "9007199254740993-a", "1-" + strings.Repeat("g", 32), "1-a\x00", "1-\xff", "1-" + strings.Repeat("long", 2048) + "r"} {
		if rev, ok := rev.ParseFree(bad); ok {
			t.Errorf("ParseFreeRevision(%.50q) = %.50s", bad, rev)
		}
	}
}

// TestRevisionsAreInCouchDBsOrder: by generation, then by the bytes of the hash, of which hex digits are 16.
func TestRevisionsAreInCouchDBsOrder(t *testing.T) {
	order := []string{"1-", "1-00000000000000000000000000000000", "1-0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f", "1-A", "1-a", "1-aa", "1-ab", "1-b",
		"1-70000000000000000000000000000000", "1-z", "1-90000000000000000000000000000000", "1-fffffffffffffffffffffffffffffffe", "2-", "2-a", "10-"}
	for i, x := range order {
		for j, y := range order {
			a, _ := rev.ParseFree(x)
			b, _ := rev.ParseFree(y)
			if got := a.Compare(b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%s against %s = %d", x, y, got)
			}
		}
	}
}

func TestGoldenEnding(t *testing.T) {
	leaf := rev.Next(rev.ID{}, false, []byte(`{"name":"Sé"}`))
	if got := rev.Ending(leaf).String(); got != goldenEnding || rev.Ending(leaf) == rev.Next(leaf, true, nil) {
		t.Errorf("Ending(%v) = %s, want %s", leaf, got, goldenEnding)
	}
}

const goldenEnding = "2-732d4e29d6248ddb631dd4a1ec8e86d4"
