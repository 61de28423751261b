package kvtest_test

import (
	"fmt"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestFillGivesTheSameIdsEachTime has many batches written: whoever draws people from a seed must meet the same ones behind the
// same ids, or what is found of them depends on how busy the machine was.
func TestFillGivesTheSameIdsEachTime(t *testing.T) {
	t.Parallel()
	const people = 20*table.MaxRows + 1
	s := kvtest.Open(t)
	kvtest.Fill(t, s, record.Person, people, func(i int) string {
		return fmt.Sprintf(`{"full_name":"Ana Souza","membership_number":%d}`, i+1)
	})
	rows, _, err := s.Log.Replay(auth.Operator(), 0, 2*people, record.Person)
	if err != nil || len(rows) != people {
		t.Fatalf("%d people, %v, want %d", len(rows), err, people)
	}
	for _, r := range rows {
		if got := string(r.Body.Member("membership_number")); got != fmt.Sprint(r.ID.Int()) {
			t.Fatalf("person %d is the one made as number %s", r.ID.Int(), got)
		}
	}
}
