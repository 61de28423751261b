package kv_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/engine"
	"doorward/kv/kvtest"
	"doorward/kv/table"
)

// TestAStoreThatIsMissingIsNoNewOne: each of the files beside it tells that it was there. A file of anybody else tells nothing.
func TestAStoreThatIsMissingIsNoNewOne(t *testing.T) {
	for _, name := range []string{"doorward.mark", "doorward.backup", kv.LedgerName} {
		dir := folder(t)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("1700000000000000 \"/mnt/monday.db\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := kv.Open(kv.Config{Dir: dir})
		var bad *engine.BadFile
		if !errors.As(err, &bad) || bad.Path != table.Path(dir) || !strings.Contains(err.Error(), name) || (bad.Backup != "") != (name == "doorward.backup") {
			t.Errorf("Open beside %s = %v, want a BadFile", name, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("the folder holds %v, %v, want only %s", left, err, name)
		}
	}
	dir := folder(t)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "doorward.txt"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	kvtest.OpenConfig(t, kv.Config{Dir: dir})
}
