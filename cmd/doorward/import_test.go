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

// TestImportOverrulesNoDecision: the command fails for a row that lets a blocked ticket in, shows it before, and takes it with --reinstate.
func TestImportOverrulesNoDecision(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	list := func(state string, flags ...string) (code int, out string) {
		file := "code;state\nKX7QP2M9D4RSX1;" + state + "\nKX7QP2M9D4RSX2;valid\n"
		code, out, errs := run(t.Context(), strings.NewReader(file), append([]string{"import", "--data", dir, "--kind", "ticket", "--event", "1", "-"}, flags...)...)
		return code, out + errs
	}
	event := `{"kind":"event","id":1,"name":"Festa","start_datetime":"2026-12-31T19:30:00Z"}`
	if code, _, errs := run(t.Context(), strings.NewReader(event), "import", "--data", dir, "-"); code != exitDone {
		t.Fatalf("import = %d: %s", code, errs)
	}
	const refused = "line 2, column state: the ticket is blocked here and valid in the file: change it here, or say --reinstate to let the file decide"
	for _, c := range []struct {
		state string
		flags []string
		code  int
		want  string
	}{
		{"blocked", nil, exitDone, "created 2"}, {"valid", []string{"--dry-run"}, exitFailed, refused}, {"valid", nil, exitFailed, refused},
		{"valid", []string{"--json"}, exitFailed, `"unchanged":1,"rejected":[{"line":2,"column":"state","reason":"the ticket is blocked here`},
		{"valid", []string{"--reinstate"}, exitDone, "updated 1"}, {"blocked", nil, exitDone, "updated 1"},
	} {
		if code, out := list(c.state, c.flags...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s %v = %d, want %d and %q:\n%s", c.state, c.flags, code, c.code, c.want, out)
		}
	}
}
