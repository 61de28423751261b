package names_test

import (
	"testing"

	"doorward/kv/names"
)

func TestIsCPF(t *testing.T) {
	for digits, want := range map[string]bool{
		"52998224725": true, "11144477735": true, "12345678909": true,
		"52998224726": false, "52998224735": false, "11111111111": false, "5299822472": false, "529982247250": false, "5299822472a": false, "": false,
	} {
		if got := names.IsCPF(digits); got != want {
			t.Errorf("IsCPF(%q) = %v, want %v", digits, got, want)
		}
	}
}
