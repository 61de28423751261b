package names_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv/names"
)

func TestFold(t *testing.T) {
	for text, want := range map[string]string{"A\u00a0 ¨\t B": "a b", "ÇÃO": "cao", "ẞß": "ssss", "ﬃ": "ffi", "Ⅷ": "viii", "½": "1⁄2", "한": "한",
		"D’Á D‘A D`a D´A DʼA D′A D＇A D｀A": strings.TrimSpace(strings.Repeat("d'a ", 8)), "a‐b‑c–d—e−f－g": "a-b-c-d-e-f-g", "2º Mª": "2o ma"} {
		if got := names.Fold(text); got != names.Fold(want) {
			t.Errorf("Fold(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestFoldIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		once := names.Fold(s)
		if twice := names.Fold(once); twice != once {
			t.Errorf("Fold(%q) = %q, folded again %q", s, once, twice)
		}
	})
}
