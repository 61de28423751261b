package handshake_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"doorward/kv/erase"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/sync/handshake"
)

// TestErasuresReadBackAsTheyWereWritten, and a kind of a later version is nil and no error.
func TestErasuresReadBackAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	want := erase.Erasure{Kind: record.Person}
	copy(want.Hash[:], "a keyed hash of an id, shortened")
	text, err := json.Marshal(handshake.NewErasure(want))
	if err != nil {
		t.Fatal(err)
	}
	for from, kind := range map[string]*record.Kind{`"person"`: record.Person, `"pet"`: nil} {
		var e handshake.Erasure
		if err := json.Unmarshal([]byte(strings.Replace(string(text), `"person"`, from, 1)), &e); err != nil {
			t.Fatal(err)
		}
		if got, ok := e.Parse(); !ok || got.Hash != want.Hash || got.Kind != kind {
			t.Errorf("kind %s reads as %v, %t", from, got, ok)
		}
	}
	if _, ok := (&handshake.Erasure{Kind: "person", Hash: "not hex"}).Parse(); ok {
		t.Error("a hash that is not hex is read")
	}
}

// TestAGreetingIsTheCentresOwn: one of another node, or without an epoch or a time, is another server's.
func TestAGreetingIsTheCentresOwn(t *testing.T) {
	t.Parallel()
	for text, is := range map[string]bool{
		`{"node":"N","epoch":"E","now":"2030-01-01T00:00:00Z"}`: true, `{"node":"M","epoch":"E","now":"2030-01-01T00:00:00Z"}`: false,
		`{"node":"N","now":"2030-01-01T00:00:00Z"}`: false, `{"node":"N","epoch":"E"}`: false, `{}`: false,
	} {
		var g handshake.Greeting
		if err := json.Unmarshal([]byte(text), &g); err != nil || g.IsFrom("N") != is {
			t.Errorf("%s is the centre's: %t, %v, want %t", text, g.IsFrom("N"), err, is)
		}
	}
}

// TestAGreetingSaysWhatToDoWithADatabase: a database that is to be dropped is exchanged until it is due, and as long as the laptop holds
// it. A revoked laptop reads nothing, drops nothing, and pushes what it may push.
func TestAGreetingSaysWhatToDoWithADatabase(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 6, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		revoked bool
		x       office.Exchanged
		held    []int64
		want    string // how it is exchanged and dropped
	}{
		"both ways":                       {false, office.Exchanged{Push: true, Pull: true}, nil, "push pull"},
		"of a guest":                      {false, office.Exchanged{Push: true, Pull: true, Guest: true}, nil, "push pull guest"},
		"read alone":                      {false, office.Exchanged{Pull: true}, nil, "pull"},
		"read alone, of a revoked laptop": {true, office.Exchanged{Pull: true}, nil, ""},
		"both ways, of a revoked laptop":  {true, office.Exchanged{Push: true, Pull: true}, nil, "push"},
		"over, of a revoked laptop":       {true, office.Exchanged{Push: true, Pull: true, Drop: true, Due: now}, nil, "push"},
		"over in an hour":                 {false, office.Exchanged{Pull: true, Drop: true, Due: now.Add(time.Hour)}, nil, "pull drop after 24h0m0s"},
		"over":                            {false, office.Exchanged{Pull: true, Drop: true, Due: now}, nil, "drop after 24h0m0s"},
		"over, and held":                  {false, office.Exchanged{Pull: true, Drop: true, Due: now}, []int64{7}, "pull drop after 24h0m0s"},
		"over, another is held":           {false, office.Exchanged{Pull: true, Drop: true, Due: now}, []int64{8}, "drop after 24h0m0s"},
		"has left, and held":              {false, office.Exchanged{Pull: true, Drop: true, Left: true}, []int64{7}, "pull drop left"},
		"has left":                        {false, office.Exchanged{Pull: true, Drop: true, Left: true}, nil, "drop left"},
		"to be dropped at once, and held": {false, office.Exchanged{Pull: true, Drop: true}, []int64{7}, "drop"},
	} {
		g := handshake.Greeting{Revoked: c.revoked}
		c.x.Name = "event-7"
		g.Tell(c.x, handshake.Terms{Now: now, After: 24 * time.Hour, Held: c.held})
		var got []string
		add := func(is bool, word string) {
			if is {
				got = append(got, word)
			}
		}
		for _, db := range g.Databases {
			add(db.Push, "push")
			add(db.Pull, "pull")
			add(db.Guest, "guest")
		}
		for _, d := range g.Drop {
			add(true, "drop")
			add(d.After > 0, "after "+d.Delay().String())
			add(d.Left, "left")
		}
		if text := strings.Join(got, " "); text != c.want || len(g.Databases) > 1 || len(g.Drop) > 1 {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}
