package main

import "testing"

func TestSizesAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]size{"0": 0, "4096": 4096, "1GiB": 1 << 30, " 256 mib ": 256 << 20, "2GB": 2e9, "7b": 7, "1TiB": 1 << 40, "3kb": 3000} {
		var got size
		if err := got.Set(text); err != nil || got != want {
			t.Errorf("Set(%q) = %d, %v, want %d", text, got, err, want)
		}
		var again size
		if err := again.Set(got.String()); err != nil || again != got {
			t.Errorf("%q is written as %q, which is read as %d, %v", text, &got, again, err)
		}
	}
	for _, text := range []string{"", "much", "-1", "1.5GiB", "1 GiB free", "9000000TiB", "99999999999999999999"} {
		if got := size(5); got.Set(text) == nil || got != 5 {
			t.Errorf("Set(%q) = %d, want an error and nothing changed", text, got)
		}
	}
}
