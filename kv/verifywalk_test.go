package kv_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestVerifyReadsEachRowOnce: also of a bucket that has many pages, whoever reads them.
func TestVerifyReadsEachRowOnce(t *testing.T) {
	const people = 4_500 // more than two pages
	s := kvtest.Open(t)
	kvtest.Fill(t, s, record.Person, people, func(i int) string { return fmt.Sprintf(`{"full_name":"Ana %d"}`, i) })
	last := 0
	rep, err := s.Files.Verify(auth.Operator(), func(done, total int) {
		if done < last || done > total {
			t.Errorf("%d rows of %d are done, after %d", done, total, last)
		}
		last = done
	})
	if err != nil || rep.Damaged != 0 || rep.Records != people || rep.Rows != last {
		t.Errorf("Verify = %+v, %v, of %d people; %d rows were told of", rep, err, people, last)
	}
}

// TestAPageThatCannotBeReadIsItsCallersToSee: it ends no process from a goroutine that nobody else could guard. Here it is the middle of a
// long value, which nobody reads before.
func TestAPageThatCannotBeReadIsItsCallersToSee(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, table.Config{Dir: dir})
	kvtest.Create(t, s, record.Event, fmt.Sprintf(`{"name":"Feast","description":%q,"start_datetime":"2026-05-01T12:00:00Z"}`, strings.Repeat("long ", 100_000)))
	closed(t, s) // what is in the file then is in no log
	s = reopenable(t, table.Config{Dir: dir})
	whole, err := os.ReadFile(table.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(table.Path(dir), int64(bytes.Index(whole, []byte("long long"))+250_000)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Verify read pages that are not there")
		}
		if err := os.WriteFile(table.Path(dir), whole, 0o600); err != nil {
			t.Error(err)
		}
		closed(t, s)
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	_, err = s.Files.Verify(auth.Operator(), nil)
	t.Errorf("Verify = %v", err)
}
