package query

import (
	"fmt"
	"testing"
)

func TestNaturalReadsDigitsOnly(t *testing.T) {
	for text, want := range map[string]int{
		"7": 7, " 7 ": 7, "007": 7, "": 0, "-7": 0, "7.0": 0, "x": 0, "+7": 0, "1_0": 0, fmt.Sprint(farOffset): farOffset,
		"9223372036854775807": farOffset, "99999999999999999999": farOffset, "12345678901234567890123": farOffset,
	} {
		if got := natural(text); got != want {
			t.Errorf("natural(%q) = %d, want %d", text, got, want)
		}
	}
}
