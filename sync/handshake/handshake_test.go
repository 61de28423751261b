package handshake_test

import (
	"encoding/json"
	"strings"
	"testing"

	"doorward/kv/erase"
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
