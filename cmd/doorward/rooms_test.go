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
// room with the longest path that its own begins with. The map is ordered from the top down.
var mayImport = map[string][]string{
	"cmd":                  {"api", "api/load/columns", "api/load/demo", "api/load/export", "api/load/kinds", "api/pull", "cmd/archive", "cmd/authority", "cmd/certificate", "cmd/console", "cmd/control", "cmd/folder", "cmd/help", "cmd/importer", "cmd/invite", "cmd/rehearsal", "cmd/screen", "cmd/serve", "cmd/transfer", "kv", "kv/backup", "kv/fault", "sync/venue"},
	"cmd/serve":            {"api", "cmd/announce", "cmd/archive", "cmd/authority", "cmd/certificate", "cmd/console", "cmd/control", "cmd/folder", "cmd/invite", "index", "kv", "kv/fault", "sync", "sync/venue"},
	"cmd/transfer":         {"cmd/archive", "cmd/console", "cmd/control", "cmd/folder", "kv", "kv/backup", "sync/dial", "sync/line", "sync/replicate"},
	"cmd/rehearsal":        {"api", "cmd/archive", "cmd/console", "cmd/control", "cmd/folder", "kv"},
	"cmd/archive":          {"cmd/console", "cmd/control", "cmd/folder", "kv", "kv/backup", "sync/venue"},
	"cmd/invite":           {"cmd/authority", "cmd/console", "cmd/control"},
	"cmd/control":          {"api", "cmd/console", "cmd/folder", "index", "kv", "sync", "sync/dial", "sync/venue"},
	"api":                  {"api/barcode", "api/load", "api/load/columns", "api/load/demo", "api/load/export", "api/nullable", "api/overview", "api/pull", "api/query", "api/reach", "api/throttle", "api/web", "kv", "kv/crash", "kv/fault", "kv/record", "kv/search", "kv/value"},
	"sync/peertest":        {"kv", "kv/kvtest", "kv/record", "kv/value", "sync", "sync/replicate"},
	"api/load/demo":        {"api/load", "api/load/kinds", "kv", "kv/codes", "kv/record"},
	"api/pull":             {"api/load", "kv", "kv/fault", "kv/record", "kv/value"},
	"cmd/importer":         {"api/load", "cmd/console", "kv/fault"},
	"sync":                 {"kv", "kv/record", "kv/rev", "sync/dial", "sync/handshake", "sync/input", "sync/line", "sync/mango", "sync/replicate", "sync/transit"},
	"sync/venue":           {"kv", "kv/record", "kv/rev", "sync/dial", "sync/handshake", "sync/input", "sync/line", "sync/replicate", "sync/transit"},
	"api/load":             {"api/load/cells", "api/load/columns", "api/load/kinds", "api/load/profile", "api/load/sheet", "api/load/words", "kv", "kv/fault", "kv/names", "kv/record", "kv/value"},
	"sync/replicate":       {"kv", "kv/auth", "kv/record", "kv/rev", "kv/scopes", "sync/dial", "sync/input", "sync/line", "sync/mango", "sync/transit"},
	"api/load/columns":     {"api/load/cells", "api/load/kinds", "api/load/profile", "api/load/sheet", "api/load/words", "kv/record"},
	"sync/line":            {"kv", "kv/rev", "sync/input", "sync/transit"},
	"api/load/profile":     {"api/load/cells", "api/load/sheet", "api/load/words"},
	"cmd/authority":        {"cmd/folder", "kv/backup"},
	"cmd/folder":           {"cmd/console", "kv", "kv/backup"},
	"cmd/screen":           {"api/overview", "cmd/console"},
	"sync/dial":            {"sync/input"},
	"sync/transit":         {"kv", "kv/rev", "sync/input"},
	"api/load/export":      {"api/load/cells", "api/load/kinds", "kv", "kv/record"},
	"api/load/sheet":       {"api/load/cells"},
	"api/overview":         {"api/nullable", "kv", "kv/fault", "kv/record", "kv/scopes", "kv/value"},
	"api/query":            {"kv", "kv/fault", "kv/record", "kv/value"},
	"index":                {"kv", "kv/crash", "kv/names", "kv/record", "kv/search", "kv/value"},
	"kv/backup":            {"kv", "kv/crash"},
	"kv/kvtest":            {"kv", "kv/record"},
	"sync/handshake":       {"kv", "kv/record", "kv/rev", "kv/scopes"},
	"sync/input":           {"kv"},
	"sync/mango":           {"kv"},
	"api/load/cells":       {"api/load/kinds", "api/load/words", "kv/record", "kv/value"},
	"kv":                   {"kv/auth", "kv/codes", "kv/crash", "kv/disk", "kv/engine", "kv/fault", "kv/names", "kv/record", "kv/rev", "kv/scopes", "kv/search", "kv/value"},
	"api/load/kinds":       {"api/load/words", "kv/record"},
	"kv/auth":              {"kv/record", "kv/scopes"},
	"kv/search":            {"kv/names", "kv/record", "kv/value"},
	"kv/engine/enginetest": {"kv/disk", "kv/engine"},
	"kv/record":            {"kv/fault", "kv/names", "kv/rev", "kv/scopes", "kv/value"},
	"api/nullable":         {"kv/value"},
	"kv/engine":            {"kv/crash", "kv/disk", "kv/engine/wal"},
	"kv/engine/wal":        {"kv/disk"},
	"kv/kvtest/disk":       {"kv/kvtest/proof"},
	"kv/rev":               {"kv/value"},
	"kv/rev/revtest":       {"kv/rev"},
	"api/barcode":          {},
	"api/load/words":       {},
	"api/reach":            {},
	"api/throttle":         {},
	"api/web":              {},
	"cmd/announce":         {},
	"cmd/certificate":      {},
	"cmd/console":          {},
	"cmd/help":             {},
	"kv/codes":             {},
	"kv/crash":             {},
	"kv/disk":              {},
	"kv/fault":             {},
	"kv/kvtest/proof":      {},
	"kv/names":             {},
	"kv/scopes":            {},
	"kv/value":             {},
}

// mayUse are the libraries, by the start of their paths, and the rooms that may know them.
var mayUse = map[string][]string{
	"pgregory.net/rapid":                  {"kv/rev/revtest"},
	"github.com/RoaringBitmap/":           {"index"},
	"github.com/blevesearch/":             {"index"},
	"github.com/go-chi/":                  {"api", "sync"},
	"github.com/go-json-experiment/json":  {"api", "api/load", "api/load/cells", "api/load/export", "api/nullable", "api/overview", "api/pull", "kv", "kv/record", "kv/rev", "kv/search", "kv/value", "sync", "sync/dial", "sync/input", "sync/line", "sync/replicate", "sync/transit"},
	"github.com/google/renameio/v2":       {"kv/backup"},
	"github.com/hanwen/go-fuse/v2":        {"kv/kvtest/disk"},
	"github.com/hashicorp/golang-lru/v2":  {"index"},
	"github.com/klauspost/compress":       {"sync/line", "sync/replicate"},
	"github.com/makiuchi-d/gozxing":       {"api/barcode"},
	"github.com/nicksnyder/go-i18n/":      {"api/web"},
	"github.com/oklog/ulid/v2":            {"kv", "kv/record", "kv/rev", "sync/peertest", "sync/replicate", "sync/transit", "kv/rev/revtest"},
	"github.com/pion/":                    {"cmd/announce"},
	"golang.org/x/net":                    {"cmd/announce"},
	"github.com/pelletier/go-toml/v2":     {"cmd"},
	"github.com/prometheus/client_golang": {"api", "cmd/certificate", "cmd/serve", "index", "kv", "kv/disk", "kv/engine", "sync", "sync/venue"},
	"github.com/shopspring/decimal":       {"kv/record"},
	"github.com/skip2/go-qrcode":          {"cmd/invite"},
	"github.com/spf13/cobra":              {"cmd"},
	"github.com/spf13/pflag":              {"cmd"},
	"github.com/swaggest/swgui":           {"api"},
	"github.com/xuri/excelize/v2":         {"api/load/export", "api/load/sheet"},
	"github.com/tidwall/btree":            {"kv/engine"},
	"go.etcd.io/bbolt":                    {"kv/engine", "kv/kvtest"},
	"golang.org/x/sys":                    {"kv", "kv/disk"},
	"golang.org/x/term":                   {"cmd/console"},
	"golang.org/x/text":                   {"api/load/sheet", "api/load/words", "api/web", "kv/codes", "kv/names"},
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
	if below, found := strings.CutPrefix(rest, "cmd/doorward/"); found {
		rest = "cmd/" + below
	}
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

// tampers are the rooms whose tests change a file behind the engine's back, or use what no product code does.
var tampers = []string{"kv", "kv/kvtest", "api/barcode", "cmd"}

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
		test := by == within && (strings.HasPrefix(to, "kv/kvtest") || to == "kv/crash" || to == "kv/record")
		if to != from && !slices.Contains(mayImport[from], to) && by != outside && !test {
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
			if slices.Contains(rooms, from) || by == outside && !slices.Contains(hidden, lib) || by != itself && slices.Contains(tampers, from) {
				return ""
			}
			return "room " + from + " may not use " + lib
		}
	}
	return "a library that no room may use; a new one gets a dated line in help/decisions.md and its rooms here"
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
		{"api", "go.etcd.io/bbolt", false}, {"index", "github.com/go-chi/chi/v5", false}, {"api", "github.com/google/go-cmp/cmp", false},
		{"api", "example.org/new", false}, {"cmd", "doorward/api/load/columns", true}, {"api", "doorward/api/pull", true}, {"api/pull", "doorward/api", false}, {"api/load/columns", "doorward/kv", false}, {"api/load/columns", "doorward/api/load", false},
		{"api/load/export", "doorward/api/load", false}, {"api/overview", "doorward/api", false}, {"api/load/sheet", "doorward/kv/record", false}, {"api/load/demo", "doorward/api/load", true},
		{"sync", "doorward/api/pull", false}, {"api", "doorward/kv/record", true}, {"kv", "go.etcd.io/bbolt", false}, {"kv/engine", "go.etcd.io/bbolt", true}, {"kv/engine", "doorward/kv", false}, {"kv/disk", "doorward/kv/engine", false},
		{"sync/replicate", "doorward/sync", false}, {"sync/replicate", "doorward/sync/venue", false}, {"sync", "doorward/sync/venue", false}, {"kv", "doorward/sync/line", false}, {"sync/venue", "doorward/sync/replicate", true}, {"sync", "doorward/sync/line", true},
		{"cmd/control", "doorward/cmd/doorward/serve", false}, {"cmd/screen", "doorward/kv", false}, {"kv", "doorward/kv/backup", false}, {"kv/backup", "doorward/api", false},
		{"kv/rev", "doorward/kv/record", false}, {"kv/record", "doorward/kv/rev", true}, {"kv/rev", "doorward/kv/kvtest", false}, {"kv/names", "doorward/kv/record", false}, {"kv/record", "doorward/kv/search", false}, {"kv/search", "doorward/kv/record", true},
	} {
		if got := forbidden(c.from, c.path, itself) == ""; got != c.ok {
			t.Errorf("room %s importing %s is allowed: %v, want %v", c.from, c.path, got, c.ok)
		}
	}
}
