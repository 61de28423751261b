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
	"cmd":                  {"api", "api/load/columns", "api/load/demo", "api/load/export", "api/load/kinds", "api/overview", "api/pull", "cmd/archive", "cmd/authority", "cmd/certificate", "cmd/console", "cmd/control", "cmd/folder", "cmd/help", "cmd/importer", "cmd/invite", "cmd/rehearsal", "cmd/screen", "cmd/serve", "cmd/transfer", "kv", "kv/auth", "kv/backup", "kv/disk", "kv/engine", "kv/fault", "kv/table", "kv/value", "sync/venue"},
	"cmd/rehearsal":        {"cmd/folder", "api", "cmd/archive", "cmd/console", "cmd/control", "kv", "kv/auth", "kv/table"},
	"cmd/serve":            {"api", "cmd/announce", "cmd/archive", "cmd/authority", "cmd/certificate", "cmd/console", "cmd/control", "cmd/folder", "cmd/invite", "cmd/repeat", "index", "kv", "kv/auth", "kv/backup", "kv/disk", "kv/fault", "kv/table", "kv/value", "sync", "sync/venue"},
	"cmd/transfer":         {"cmd/archive", "cmd/console", "cmd/control", "cmd/folder", "kv/auth", "kv/backup", "kv/disk", "kv/office", "kv/table", "sync/dial", "sync/line", "sync/replicate"},
	"cmd/archive":          {"cmd/console", "cmd/control", "cmd/folder", "kv", "kv/auth", "kv/backup", "kv/disk", "kv/laptop", "kv/table", "kv/upkeep", "sync/venue"},
	"cmd/invite":           {"cmd/authority", "cmd/console", "cmd/control"},
	"cmd/control":          {"api", "cmd/console", "cmd/folder", "index", "kv", "kv/disk", "sync", "sync/dial", "sync/venue"},
	"api":                  {"api/barcode", "api/load", "api/load/columns", "api/load/demo", "api/load/export", "api/nullable", "api/overview", "api/phone", "api/pull", "api/query", "api/reach", "api/throttle", "api/web", "kv", "kv/admission", "kv/auth", "kv/backup", "kv/crash", "kv/desk", "kv/disk", "kv/door", "kv/engine", "kv/entry", "kv/erase", "kv/fault", "kv/feed", "kv/idempotency", "kv/inbox", "kv/keys", "kv/laptop", "kv/office", "kv/outcome", "kv/record", "kv/search", "kv/table", "kv/value"},
	"sync/peertest":        {"kv", "kv/auth", "kv/desk", "kv/docs", "kv/keys", "kv/kvtest", "kv/merge", "kv/office", "kv/record", "kv/table", "kv/value", "sync", "sync/replicate"},
	"api/load/demo":        {"api/load", "api/load/kinds", "kv", "kv/auth", "kv/codes", "kv/record"},
	"api/pull":             {"api/load", "kv", "kv/auth", "kv/desk", "kv/entry", "kv/fault", "kv/laptop", "kv/record", "kv/table", "kv/value"},
	"cmd/importer":         {"api/load", "cmd/console", "kv/fault"},
	"cmd/screen":           {"api/overview", "cmd/console"},
	"sync":                 {"kv", "kv/auth", "kv/disk", "kv/docs", "kv/engine", "kv/entry", "kv/erase", "kv/keys", "kv/laptop", "kv/merge", "kv/office", "kv/record", "kv/rev", "kv/table", "kv/value", "sync/dial", "sync/handshake", "sync/input", "sync/line", "sync/mango", "sync/replicate", "sync/transit"},
	"sync/venue":           {"kv", "kv/auth", "kv/disk", "kv/docs", "kv/erase", "kv/keys", "kv/laptop", "kv/merge", "kv/office", "kv/record", "kv/rev", "kv/table", "sync/dial", "sync/handshake", "sync/input", "sync/line", "sync/replicate", "sync/transit"},
	"api/load":             {"api/load/cells", "api/load/columns", "api/load/kinds", "api/load/profile", "api/load/sheet", "api/load/words", "kv", "kv/auth", "kv/codes", "kv/desk", "kv/disk", "kv/door", "kv/entry", "kv/fault", "kv/feed", "kv/names", "kv/outcome", "kv/record", "kv/table", "kv/value"},
	"api/phone":            {"api/overview", "api/web", "kv", "kv/auth", "kv/door", "kv/keys", "kv/record", "kv/table"},
	"api/overview":         {"api/nullable", "kv", "kv/auth", "kv/desk", "kv/door", "kv/engine", "kv/fault", "kv/office", "kv/record", "kv/scopes", "kv/table", "kv/value"},
	"cmd/authority":        {"cmd/folder", "cmd/repeat", "kv/backup", "kv/disk"},
	"cmd/announce":         {"cmd/repeat"},
	"cmd/certificate":      {"cmd/repeat"},
	"index":                {"kv", "kv/auth", "kv/crash", "kv/desk", "kv/disk", "kv/feed", "kv/names", "kv/record", "kv/search", "kv/table", "kv/value"},
	"kv/kvtest":            {"kv", "kv/auth", "kv/desk", "kv/entry", "kv/keys", "kv/record", "kv/table"},
	"sync/replicate":       {"kv", "kv/access", "kv/auth", "kv/disk", "kv/docs", "kv/engine", "kv/entry", "kv/merge", "kv/record", "kv/rev", "kv/table", "sync/dial", "sync/input", "sync/line", "sync/mango", "sync/transit"},
	"cmd/folder":           {"cmd/console", "kv/backup", "kv/disk", "kv/table"},
	"kv":                   {"kv/auth", "kv/backup", "kv/desk", "kv/docs", "kv/door", "kv/engine", "kv/erase", "kv/feed", "kv/inbox", "kv/keys", "kv/laptop", "kv/merge", "kv/office", "kv/record", "kv/table", "kv/upkeep"},
	"sync/line":            {"kv/merge", "kv/rev", "sync/input", "sync/transit"},
	"kv/backup":            {"kv/admission", "kv/auth", "kv/crash", "kv/disk", "kv/docs", "kv/engine", "kv/entry", "kv/laptop", "kv/merge", "kv/record", "kv/rev", "kv/table"},
	"sync/handshake":       {"kv/erase", "kv/office", "kv/record", "kv/scopes", "kv/table"},
	"sync/mango":           {"kv/docs"},
	"sync/transit":         {"kv/docs", "kv/entry", "kv/merge", "kv/rev", "sync/input"},
	"kv/docs":              {"kv/access", "kv/admission", "kv/auth", "kv/crash", "kv/disk", "kv/engine", "kv/entry", "kv/fault", "kv/inbox", "kv/keys", "kv/merge", "kv/office", "kv/record", "kv/rev", "kv/scopes", "kv/table", "kv/value"},
	"kv/erase":             {"kv/auth", "kv/engine", "kv/entry", "kv/idempotency", "kv/ledger", "kv/merge", "kv/office", "kv/record", "kv/scopes", "kv/table"},
	"kv/laptop":            {"kv/auth", "kv/desk", "kv/engine", "kv/entry", "kv/idempotency", "kv/inbox", "kv/merge", "kv/office", "kv/record", "kv/rev", "kv/scopes", "kv/table"},
	"sync/dial":            {"sync/input"},
	"kv/inbox":             {"kv/admission", "kv/auth", "kv/desk", "kv/disk", "kv/engine", "kv/entry", "kv/fault", "kv/idempotency", "kv/merge", "kv/record", "kv/rev", "kv/scopes", "kv/table", "kv/ticket", "kv/value"},
	"kv/office":            {"kv/access", "kv/auth", "kv/codes", "kv/disk", "kv/engine", "kv/entry", "kv/fault", "kv/keys", "kv/merge", "kv/record", "kv/scopes", "kv/table", "kv/value"},
	"sync/input":           {"kv/entry", "kv/merge", "kv/value"},
	"kv/merge":             {"kv/access", "kv/admission", "kv/auth", "kv/disk", "kv/engine", "kv/entry", "kv/ledger", "kv/names", "kv/record", "kv/rev", "kv/scopes", "kv/table", "kv/ticket", "kv/value"},
	"api/query":            {"kv/desk", "kv/fault", "kv/record", "kv/value"},
	"kv/door":              {"kv/admission", "kv/auth", "kv/codes", "kv/desk", "kv/engine", "kv/entry", "kv/fault", "kv/idempotency", "kv/ledger", "kv/names", "kv/outcome", "kv/record", "kv/rev", "kv/scopes", "kv/search", "kv/table", "kv/value"},
	"kv/upkeep":            {"kv/auth", "kv/desk", "kv/engine", "kv/keys", "kv/record", "kv/table", "kv/value"},
	"api/load/columns":     {"api/load/cells", "api/load/kinds", "api/load/profile", "api/load/sheet", "api/load/words", "kv/record"},
	"api/load/export":      {"api/load/cells", "api/load/kinds", "kv/auth", "kv/feed", "kv/record"},
	"kv/desk":              {"kv/access", "kv/auth", "kv/disk", "kv/entry", "kv/fault", "kv/idempotency", "kv/names", "kv/record", "kv/rev", "kv/search", "kv/table", "kv/ticket", "kv/value"},
	"api/load/profile":     {"api/load/cells", "api/load/sheet", "api/load/words"},
	"kv/idempotency":       {"kv/engine", "kv/entry", "kv/record", "kv/table"},
	"kv/feed":              {"kv/auth", "kv/engine", "kv/entry", "kv/record", "kv/table"},
	"kv/keys":              {"kv/auth", "kv/codes", "kv/disk", "kv/engine", "kv/entry", "kv/fault", "kv/record", "kv/table", "kv/value"},
	"kv/ticket":            {"kv/admission", "kv/auth", "kv/entry", "kv/record", "kv/rev", "kv/scopes", "kv/table", "kv/value"},
	"api/load/sheet":       {"api/load/cells", "api/load/words"},
	"kv/entry":             {"kv/access", "kv/admission", "kv/auth", "kv/codes", "kv/engine", "kv/fault", "kv/names", "kv/record", "kv/rev", "kv/scopes", "kv/table", "kv/value"},
	"kv/admission":         {"kv/engine", "kv/outcome", "kv/record", "kv/table", "kv/value"},
	"api/load/cells":       {"api/load/kinds", "api/load/words", "kv/codes", "kv/record", "kv/value"},
	"kv/table":             {"kv/access", "kv/auth", "kv/crash", "kv/disk", "kv/engine", "kv/ledger", "kv/outcome", "kv/record", "kv/rev", "kv/scopes", "kv/value"},
	"api/load/kinds":       {"api/load/words", "kv/record"},
	"kv/access":            {"kv/auth", "kv/record", "kv/scopes"},
	"kv/auth":              {"kv/record"},
	"kv/engine/enginetest": {"kv/disk", "kv/engine"},
	"kv/ledger":            {"kv/disk", "kv/record"},
	"kv/search":            {"kv/names", "kv/record", "kv/value"},
	"kv/engine":            {"kv/crash", "kv/disk", "kv/engine/pages", "kv/engine/wal"},
	"kv/engine/pages":      {"kv/disk"},
	"kv/record":            {"kv/fault", "kv/names", "kv/rev", "kv/scopes", "kv/value"},
	"kv/rev/revtest":       {"kv/rev"},
	"api/nullable":         {"kv/value"},
	"kv/engine/wal":        {"kv/disk"},
	"kv/kvtest/disk":       {"kv/kvtest/proof"},
	"kv/rev":               {"kv/value"},
	"api/barcode":          {},
	"api/load/words":       {},
	"api/reach":            {},
	"api/throttle":         {},
	"api/web":              {},
	"cmd/console":          {},
	"cmd/help":             {},
	"cmd/repeat":           {},
	"kv/codes":             {},
	"kv/crash":             {},
	"kv/disk":              {},
	"kv/fault":             {},
	"kv/kvtest/proof":      {},
	"kv/names":             {},
	"kv/outcome":           {},
	"kv/scopes":            {},
	"kv/value":             {},
}

// mayUse are the libraries, by the start of their paths, and the rooms that may know them.
var mayUse = map[string][]string{
	"pgregory.net/rapid":                  {"kv/rev/revtest"},
	"github.com/RoaringBitmap/":           {"index"},
	"github.com/blevesearch/":             {"index"},
	"github.com/go-chi/":                  {"api", "sync"},
	"github.com/go-json-experiment/json":  {"api", "api/load", "api/load/cells", "api/load/export", "api/nullable", "api/overview", "api/pull", "kv/docs", "kv/door", "kv/entry", "kv/inbox", "kv/keys", "kv/record", "kv/rev", "kv/search", "kv/table", "kv/ticket", "kv/value", "sync", "sync/dial", "sync/input", "sync/line", "sync/replicate", "sync/transit"},
	"github.com/google/renameio/v2":       {"kv/backup"},
	"github.com/hanwen/go-fuse/v2":        {"kv/kvtest/disk"},
	"github.com/hashicorp/golang-lru/v2":  {"index", "kv/door"},
	"github.com/klauspost/compress":       {"sync/line", "sync/replicate"},
	"github.com/makiuchi-d/gozxing":       {"api/barcode"},
	"github.com/nicksnyder/go-i18n/":      {"api/web"},
	"github.com/oklog/ulid/v2":            {"kv/backup", "kv/desk", "kv/docs", "kv/inbox", "kv/keys", "kv/merge", "kv/office", "kv/record", "kv/rev", "kv/rev/revtest", "kv/table", "kv/ticket", "sync/peertest", "sync/replicate", "sync/transit"},
	"github.com/pion/":                    {"cmd/announce"},
	"golang.org/x/net":                    {"cmd/announce", "sync/dial"},
	"github.com/pelletier/go-toml/v2":     {"cmd"},
	"github.com/prometheus/client_golang": {"api", "cmd/certificate", "cmd/serve", "index", "kv", "kv/desk", "kv/disk", "kv/door", "kv/engine", "kv/erase", "kv/inbox", "kv/kvtest", "kv/table", "kv/upkeep", "sync", "sync/venue"},
	"github.com/shopspring/decimal":       {"kv/record"},
	"github.com/skip2/go-qrcode":          {"api/web", "cmd/invite"},
	"github.com/spf13/cobra":              {"cmd"},
	"github.com/spf13/pflag":              {"cmd"},
	"github.com/swaggest/swgui":           {"api"},
	"github.com/xuri/excelize/v2":         {"api/load/export", "api/load/sheet"},
	"github.com/tidwall/btree":            {"kv/engine"},
	"go.etcd.io/bbolt":                    {"kv/engine", "kv/kvtest"},
	"golang.org/x/sys":                    {"kv/disk", "kv/table"},
	"golang.org/x/term":                   {"cmd/console"},
	"golang.org/x/text":                   {"api", "api/load/sheet", "api/load/words", "api/web", "kv/codes", "kv/names"},
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
		test := by == within && (strings.HasPrefix(to, "kv/kvtest") || to == "kv/crash" || to == "kv/record" || slices.Contains(tampers, from) && strings.HasPrefix(to, "kv/") ||
			from == "cmd" && to == "api/barcode") // reads the code that a terminal shows
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
		{"cmd/control", "doorward/cmd/doorward/serve", false}, {"cmd/screen", "doorward/kv", false}, {"kv", "doorward/kv/backup", true}, {"kv/backup", "doorward/api", false},
		{"kv/rev", "doorward/kv/record", false}, {"kv/record", "doorward/kv/rev", true}, {"kv/rev", "doorward/kv/kvtest", false}, {"kv/names", "doorward/kv/record", false}, {"kv/record", "doorward/kv/search", false}, {"kv/search", "doorward/kv/record", true},
		{"kv/table", "doorward/kv/door", false}, {"kv/door", "doorward/kv/merge", false}, {"kv/docs", "doorward/kv/merge", true}, {"kv/desk", "doorward/kv/door", false}, {"kv/entry", "doorward/kv/desk", false}, {"kv/auth", "doorward/kv/table", false}, {"kv/erase", "doorward/kv/table", true},
	} {
		if got := forbidden(c.from, c.path, itself) == ""; got != c.ok {
			t.Errorf("room %s importing %s is allowed: %v, want %v", c.from, c.path, got, c.ok)
		}
	}
}
