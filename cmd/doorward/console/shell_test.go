package console

import "testing"

// TestArgumentsAreQuotedForTheSystem: a path of Windows stays bare, because PowerShell runs no program that is quoted.
func TestArgumentsAreQuotedForTheSystem(t *testing.T) {
	for _, row := range []struct{ arg, posix, windows string }{
		{"keys", "keys", "keys"},
		{"", "''", `""`},
		{"*:*", "'*:*'", `"*:*"`},
		{`C:\doorward\doorward.exe`, `'C:\doorward\doorward.exe'`, `C:\doorward\doorward.exe`},
		{"Festa 2030", "'Festa 2030'", `"Festa 2030"`},
		{"it's", `'it'\''s'`, `"it's"`},
		{`say "a"`, `'say "a"'`, `"say \"a\""`},
	} {
		if got := posix.write([]string{row.arg}); got != row.posix {
			t.Errorf("%s is written %s, want %s", row.arg, got, row.posix)
		}
		if got := windows.write([]string{row.arg}); got != row.windows {
			t.Errorf("on Windows %s is written %s, want %s", row.arg, got, row.windows)
		}
	}
}
