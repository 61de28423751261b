package console

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestOutput_ShowsNoControlCharacter: what a stranger wrote does nothing to the terminal, however it is cut into writes.
func TestOutput_ShowsNoControlCharacter(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"plain text", "Ana\t12\nBó 教会 ✓\n", "Ana\t12\nBó 教会 ✓\n"},
		{"a colour", "\x1b[31mred", "·[31mred"},
		{"a title", "\x1b]0;owned\a", "·]0;owned·"},
		{"a line written over", "refused\rcopied \b", "refused·copied ·"},
		{"NUL and DEL", "a\x00b\x7f", "a·b·"},
		{"C1 as UTF-8", "\u009b31m\u0085", "·31m·"},
		{"C1 as a single byte", "a\x9b31m", "a·31m"},
		{"text of another encoding", "Jo\xe3o", "Jo·o"},
		{"a text turned round", "\u202egnp.exe\u2066", "·gnp.exe·"},
		{"a line separator", "a\u2028b", "a·b"},
		{"a wide blank", "R$\u00a05", "R$\u00a05"},
		{"the replacement character itself", "a\ufffdb", "a\ufffdb"},
		{"a character that is cut off", "a\xe6\x95", "a··"},
		{"a QR code", "█▀▄ \n", "█▀▄ \n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var whole, bytewise bytes.Buffer
			one, many := NewOutput(&whole), NewOutput(&bytewise)
			for _, out := range []*Output{one, many} {
				size := len(row.text)
				if out == many {
					size = 1
				}
				for rest := row.text; rest != ""; rest = rest[size:] {
					if n, err := io.WriteString(out, rest[:size]); n != size || err != nil {
						t.Fatalf("Write = %d, %v", n, err)
					}
				}
				if err := out.Err(); err != nil {
					t.Fatal(err)
				}
			}
			if whole.String() != row.want || bytewise.String() != row.want {
				t.Errorf("the terminal shows %q and %q, want %q", &whole, &bytewise, row.want)
			}
		})
	}
}

// TestConsole_Exact: JSON and exports are for programs.
func TestConsole_Exact(t *testing.T) {
	var out bytes.Buffer
	c := &Console{Out: NewOutput(&out)}
	const text = "a\x1b\r\x9b\u202e\n"
	if _, err := io.WriteString(c.Exact(), text); err != nil || out.String() != text {
		t.Errorf("written exactly: %q, %v", &out, err)
	}
	out.Reset()
	if err := c.JSON(map[string]string{"name": "\x1b[31m\u009b"}); err != nil || out.String() != "{\"name\":\"\\u001b[31m\u009b\"}\n" {
		t.Errorf("as JSON: %q, %v", &out, err)
	}
}

// TestLogger_QuotesControlCharacters: a peer's message is in the log.
func TestLogger_QuotesControlCharacters(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		c := &Console{Err: NewOutput(&out), Logs: Logs{Format: format}}
		c.Logger(0).Info("the centre is not reached", "cause", "\x1b[31mred\x1b]0;owned\a\u009b")
		if strings.ContainsAny(out.String(), "\x1b\a\u009b") || !strings.Contains(out.String(), "red") {
			t.Errorf("%s: %q", format, &out)
		}
	}
}
