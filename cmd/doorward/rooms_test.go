package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayImport are the rooms, and the rooms that each may import (design.md §1): sisters never import each other. A package lies in the
// room with the longest path that its own begins with.
var mayImport = map[string][]string{
	"cmd":       append([]string{"api", "sync", "index", "kv"}, model...),
	"api":       append([]string{"kv"}, model...),
	"sync":      append([]string{"kv"}, model...),
	"index":     append([]string{"kv"}, model...),
	"kv":        model,
	"kv/search": {"kv/record", "kv/names", "kv/value"},
	"kv/record": {"kv/rev", "kv/scopes", "kv/names", "kv/fault", "kv/value"},
	"kv/rev":    {"kv/value"},
	"kv/scopes": {},
	"kv/codes":  {},
	"kv/names":  {},
	"kv/fault":  {},
	"kv/value":  {},
}

// model are the pure rooms, which say what records and revisions are.
var model = []string{"kv/search", "kv/record", "kv/rev", "kv/scopes", "kv/codes", "kv/names", "kv/fault", "kv/value"}

// mayUse are the libraries, by the start of their paths, and the rooms that may know them.
var mayUse = map[string][]string{
	"github.com/RoaringBitmap/":           {"index"},
	"github.com/blevesearch/":             {"index"},
	"github.com/go-chi/":                  {"api", "sync"},
	"github.com/go-json-experiment/json":  {"kv/record", "kv/rev", "kv/search", "kv/value", "kv", "api", "sync", "index"},
	"github.com/hanwen/go-fuse/v2":        {"kv"},
	"github.com/hashicorp/golang-lru/v2":  {"index"},
	"github.com/klauspost/compress":       {"sync"},
	"github.com/makiuchi-d/gozxing":       {"api"},
	"github.com/oklog/ulid/v2":            {"kv/record", "kv/rev", "kv", "sync"},
	"github.com/pelletier/go-toml/v2":     {"cmd"},
	"github.com/prometheus/client_golang": {"kv", "api", "sync", "index", "cmd"},
	"github.com/shopspring/decimal":       {"kv/record"},
	"github.com/skip2/go-qrcode":          {"cmd", "api"},
	"github.com/spf13/cobra":              {"cmd"},
	"github.com/spf13/pflag":              {"cmd"},
	"github.com/swaggest/swgui":           {"api"},
	"github.com/xuri/excelize/v2":         {"api"},
	"go.etcd.io/bbolt":                    {"kv"},
	"golang.org/x/sys":                    {"kv", "cmd"},
	"golang.org/x/term":                   {"cmd"},
	"golang.org/x/text":                   {"kv/names", "kv/codes", "kv/record", "api"},
	"golang.org/x/time":                   {"api", "sync"},
}

// forTests are the libraries that only tests use.
var forTests = []string{
	"github.com/getkin/kin-openapi", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "pgregory.net/rapid",
	"github.com/anishathalye/porcupine", "github.com/chromedp/", "github.com/go-kivik/kivik", "github.com/prometheus/common", "github.com/prometheus/client_model",
}

// pkg is what go list says of a package.
type pkg struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

// room is the room that a package of ours lies in.
func room(path string) (string, bool) {
	rest, ours := strings.CutPrefix(path, "doorward/")
	for under := rest; ours; {
		if _, known := mayImport[under]; known {
			return under, true
		}
		slash := strings.LastIndexByte(under, '/')
		if slash < 0 {
			break
		}
		under = under[:slash]
	}
	return rest, ours
}

// hidden are the libraries that not even a test outside their room may know.
var hidden = []string{"go.etcd.io/bbolt", "github.com/blevesearch/"}

// who imports: the room itself, a test within a package, or a test from outside, as a benchmark of one room by way of another.
type who byte

const (
	itself who = iota
	within
	outside
)

// forbidden says why a room may not import a path; "" where it may.
func forbidden(from, path string, by who) string {
	if to, ours := room(path); ours {
		if to != from && !slices.Contains(mayImport[from], to) && by != outside && !(by == within && to == "kv") {
			return "room " + from + " may not know room " + to
		}
		return ""
	}
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return "" // the standard library
	}
	for _, lib := range forTests {
		if strings.HasPrefix(path, lib) && by != itself {
			return ""
		}
	}
	for lib, rooms := range mayUse {
		if strings.HasPrefix(path, lib) {
			if slices.Contains(rooms, from) || by == outside && !slices.Contains(hidden, lib) {
				return ""
			}
			return "room " + from + " may not use " + lib
		}
	}
	return "a library that no room may use; a new one gets a dated line in the README and its rooms here"
}

func TestRoomsImportOnlyWhatTheyMay(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "doorward/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		from, _ := room(p.ImportPath)
		if _, known := mayImport[from]; !known {
			t.Errorf("%s lies in no room", p.ImportPath)
		}
		for by, paths := range [][]string{itself: p.Imports, within: p.TestImports, outside: p.XTestImports} {
			for _, path := range paths {
				if why := forbidden(from, path, who(by)); why != "" {
					t.Errorf("%s imports %s: %s", p.ImportPath, path, why)
				}
			}
		}
	}
}

// TestRoomsRuleCatches plants what the rule is there for.
func TestRoomsRuleCatches(t *testing.T) {
	for _, c := range []struct {
		from, path string
		ok         bool
	}{
		{"api", "doorward/index", false}, {"sync", "doorward/api", false}, {"kv", "doorward/api", false}, {"kv/record", "doorward/kv", false},
		{"kv/rev", "doorward/kv/record", false}, {"kv/record", "doorward/kv/rev", true}, {"kv/rev", "doorward/kv/kvtest", false},
		{"kv/names", "doorward/kv/record", false}, {"kv/record", "doorward/kv/search", false}, {"kv/search", "doorward/kv/record", true},
		{"api", "go.etcd.io/bbolt", false}, {"index", "github.com/go-chi/chi/v5", false}, {"api", "github.com/google/go-cmp/cmp", false},
		{"api", "example.org/new", false}, {"cmd", "doorward/api/load", true}, {"api", "doorward/api/pull", true}, {"sync", "doorward/api/pull", false}, {"api", "doorward/kv/record", true}, {"kv", "go.etcd.io/bbolt", true},
	} {
		if got := forbidden(c.from, c.path, itself) == ""; got != c.ok {
			t.Errorf("room %s importing %s is allowed: %v, want %v", c.from, c.path, got, c.ok)
		}
	}
}
