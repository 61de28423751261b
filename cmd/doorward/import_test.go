package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestImportCountsTheRejectionsThatItDoesNotList: the number is that of all rows refused.
func TestImportCountsTheRejectionsThatItDoesNotList(t *testing.T) {
	file := "name;regional_id\n" + strings.Repeat("Norte;99\n", 10_002)
	code, out, errs := run(t.Context(), strings.NewReader(file), "import", "--data", filepath.Join(t.TempDir(), "d"), "--kind", "church", "-")
	if code != exitFailed {
		t.Fatalf("import = %d: %s", code, errs)
	}
	if first, _, _ := strings.Cut(out, "\n"); !strings.HasSuffix(first, "rejected 10,002") {
		t.Errorf("import said %q, want 10,002 rejected", first)
	}
	if !strings.HasSuffix(out, "\nand 2 further rows\n") {
		t.Errorf("import ended with %q, want 2 further rows", out[max(0, len(out)-60):])
	}
}
