package kv_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

func TestAFileThatWasCutShortIsSaidToBeDamaged(t *testing.T) {
	dir := t.TempDir()
	s, err := kv.Open(kv.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		kvtest.Create(t, s, record.Church, fmt.Sprintf(`{"name":"Church %d"}`, i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(kv.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{100_000, 40_000, 16_384, 8_192, 100, 0} {
		cut := t.TempDir()
		if err := os.WriteFile(kv.Path(cut), whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := kv.Open(kv.Config{Dir: cut})
		if err == nil {
			t.Errorf("Open of the first %d bytes of %d succeeds", size, len(whole))
			_ = s.Close() // it should not have opened
			continue
		}
		if size > 8_192 && !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("Open of the first %d bytes = %v, want ErrCorrupt", size, err)
		}
	}
}
