package importer_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doorward/cmd/doorward/importer"
)

// TestATableThatChangesIsNotRead: between the plan and the writing another program has saved the file. Lines are read once, as they come.
func TestATableThatChangesIsNotRead(t *testing.T) {
	for head, changes := range map[string]bool{"Code;Status\nKX7A;paid\n": true, `{"kind":"ticket","code":"KX7A"}` + "\n": false} {
		name := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(name, []byte(head), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := importer.Open(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if b, err := io.ReadAll(s.Reader()); err != nil || string(b) != head {
			t.Errorf("read %q, %v", b, err)
		}
		if err := os.WriteFile(name, []byte(head[:5]), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(s.Reader())
		if is := err != nil && strings.Contains(err.Error(), "the file has changed"); is != changes {
			t.Errorf("%q: error = %v, want that the file has changed: %v", head, err, changes)
		}
	}
}
