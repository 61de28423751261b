package fault_test

import (
	"fmt"
	"strings"
	"testing"

	"doorward/kv/fault"
)

func TestListsOfAnswersAreCutWithACount(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "w0", 100: "w99", 101: "w99 and 1 more", 250: "w99 and 150 more"} {
		var words []string
		var faults fault.ByField
		for i := range n {
			words = append(words, fmt.Sprint("w", i))
			faults.Add("field", fmt.Sprint("w", i))
		}
		if got := fault.Listed(words); !strings.HasSuffix(got, want) || strings.Count(got, "w") != min(n, fault.MaxListed) {
			t.Errorf("Listed of %d = %s, want its end to be %q", n, got, want)
		}
		cut := faults.Cut()["field"]
		if more := n - fault.MaxListed; more > 0 && (len(cut) != fault.MaxListed+1 || cut[fault.MaxListed] != fmt.Sprintf("And %d more.", more)) {
			t.Errorf("%d faults are cut to %d, the last of which is %q", n, len(cut), cut[len(cut)-1])
		} else if more <= 0 && len(cut) != n {
			t.Errorf("%d faults are cut to %d", n, len(cut))
		}
	}
}
