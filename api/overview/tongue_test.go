package overview

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doorward/kv/table"
)

// texts are the English texts, out of the source, and those that come from elsewhere. needs are those that ask for a person.
func texts(t *testing.T) (all, needs []string) {
	t.Helper()
	all = []string{string(table.BeforeBuild), string(table.OffPeer), string(table.WentBack), string(table.Unknown), "imports", "creates", "checkins", "days"}
	at := map[string]int{"need": 1, "say": 0, "word": 0, "many": 1} // which argument is the text
	for _, name := range []string{"needs.go", "tongue.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			method, is := call.Fun.(*ast.SelectorExpr)
			if !is {
				return true
			}
			arg, known := at[method.Sel.Name]
			if !known {
				return true
			}
			if text, is := call.Args[arg].(*ast.BasicLit); is {
				said, _ := strconv.Unquote(text.Value) // the compiler has read it
				all = append(all, said)
				switch method.Sel.Name {
				case "many":
					all = append(all, said+"s")
				case "need":
					needs = append(needs, said)
				}
			}
			return true
		})
	}
	return all, needs
}

var verb = regexp.MustCompile(`%[a-z]`)

// TestEachLanguageSaysAll of an overview's texts, with the same arguments in the same order. What needs a person is said in whole sentences: a command may follow,
// or may not be shown.
func TestEachLanguageSaysAll(t *testing.T) {
	all, needs := texts(t)
	if len(all) < 60 || len(needs) < 30 {
		t.Errorf("%d texts are found, and %d needs", len(all), len(needs))
	}
	for tag, said := range tongues {
		for _, text := range all {
			other, ok := said[text]
			if !ok || !slices.Equal(verb.FindAllString(text, -1), verb.FindAllString(other, -1)) || strings.HasSuffix(text, ":") != strings.HasSuffix(other, ":") {
				t.Errorf("%s: %q is said as %q", tag, text, other)
			}
			if slices.Contains(needs, text) && (!strings.HasSuffix(text, ".") || !strings.HasSuffix(other, ".")) {
				t.Errorf("%s: a sentence has no end: %q, said as %q", tag, text, other)
			}
		}
		for text := range said {
			if !slices.Contains(all, text) {
				t.Errorf("%s: %q is never said", tag, text)
			}
		}
	}
}
