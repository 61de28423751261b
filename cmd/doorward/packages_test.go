package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the list of packages in the manual again")

// packageSize is what the manual says of a package.
type packageSize struct {
	path, what string
	lines      int
	exported   int // names, without methods
	largest    string
	methods    int
	sentences  int      // of comments
	riddles    []string // those that do not name what they speak of
}

// String is the package's line in the manual.
func (p packageSize) String() string {
	size := fmt.Sprintf("%d lines, %d names", p.lines, p.exported)
	if p.methods > 0 {
		size += fmt.Sprintf(", %s has %d methods", p.largest, p.methods)
	}
	text := fmt.Sprintf("%s %s: %s", p.path, "("+size+")", p.what)
	line, b := "-", strings.Builder{}
	for word := range strings.FieldsSeq(text) {
		if utf8.RuneCountInString(line+" "+word) > pageColumns-4 {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}

// listed is a package in the manual's list.
var listed = regexp.MustCompile(`(?m)^- (\S+) \((\d+) lines`)

// TestTheManualListsThePackages: the list in the page decisions names each package, and its sizes are right to a fifth. With -update it is
// written again.
func TestTheManualListsThePackages(t *testing.T) {
	const page, head = "help/decisions.md", "## The packages\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), head)
	intro, rest, listedThere := strings.Cut(rest, "\n- ")
	list, after, ended := strings.Cut(rest, "\n\n")
	if !found || !listedThere || !ended {
		t.Fatalf("%s has no list of packages", page)
	}
	sizes := measurePackages(t)
	if *update {
		var b strings.Builder
		for _, p := range sizes {
			b.WriteString(p.String())
		}
		if err := os.WriteFile(page, []byte(before+head+intro+"\n"+b.String()+"\n"+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	said := map[string]int{}
	for _, m := range listed.FindAllStringSubmatch("- "+list, -1) {
		said[m[1]], _ = strconv.Atoi(m[2])
	}
	for _, p := range sizes {
		if lines, ok := said[p.path]; !ok || lines*5 < p.lines*4 || lines*4 > p.lines*5 {
			t.Errorf("%s has %d lines, the manual says %d; run go test ./cmd/doorward -run %s -update", p.path, p.lines, lines, t.Name())
		}
		delete(said, p.path)
	}
	for path := range said {
		t.Errorf("the manual lists %s, and there is no such package", path)
	}
}

// TestCommentsNameWhatTheySpeakOf: comments have few sentences that leave open of what they speak.
func TestCommentsNameWhatTheySpeakOf(t *testing.T) {
	t.Parallel()
	for _, p := range measurePackages(t) {
		if len(p.riddles)*50 > p.sentences {
			t.Errorf("%s: %d of %d sentences of comments are riddles, want less than 2 %%: %q", p.path, len(p.riddles), p.sentences, p.riddles)
		}
	}
}

// measurePackages measures every package, in the order of their paths.
func measurePackages(t *testing.T) (all []packageSize) {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,GoFiles,IgnoredGoFiles", "doorward/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir, Doc    string
			GoFiles, IgnoredGoFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		path := strings.TrimPrefix(p.ImportPath, "doorward/")
		if len(p.GoFiles) == 0 || strings.Contains(path, "test") {
			continue // tests alone, and what tests use
		}
		size := packageSize{path: path, what: synopsis(p.Doc)}
		methods := map[string]int{}
		for _, name := range p.GoFiles {
			size.measure(t, filepath.Join(p.Dir, name), methods)
		}
		for name, n := range methods {
			if n > size.methods || n == size.methods && name < size.largest {
				size.largest, size.methods = name, n
			}
		}
		all = append(all, size)
	}
}

// synopsis is what a package is, without its own name.
func synopsis(text string) string {
	text = new(doc.Package).Synopsis(text)
	if _, rest, ok := strings.Cut(text, " "); ok && strings.HasPrefix(text, "Package ") {
		return rest
	}
	return text
}

// measure adds a file.
func (p *packageSize) measure(t *testing.T, path string, methods map[string]int) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	p.lines += files.File(f.Pos()).LineCount()
	for _, c := range f.Comments {
		for _, s := range sentence.FindAllString(c.Text(), -1) {
			if p.sentences++; riddle.MatchString(s) {
				p.riddles = append(p.riddles, strings.Join(strings.Fields(s), " "))
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				methods[receiver(d.Recv.List[0].Type)]++
			} else if d.Name.IsExported() {
				p.exported++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				p.exported += exported(spec)
			}
		}
	}
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// exported counts the exported names of a declaration.
func exported(spec ast.Spec) (n int) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			n++
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() {
				n++
			}
		}
	}
	return n
}
