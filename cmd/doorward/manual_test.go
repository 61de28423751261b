package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/help"
)

// manualPages are README.md and the pages of the manual, by name.
func manualPages(t testing.TB) map[string]string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{"README": string(readme)}
	for _, topic := range help.Topics() {
		pages[topic.Name] = topic.Text
	}
	return pages
}

// block is a fenced block of a page. help/doc.go lists the kinds.
type block struct {
	line   int      // where its text begins
	marks  []string // what stands behind the fence
	text   string
	output []string // lines that it prints, in this order
}

func (b *block) is(mark string) bool { return slices.Contains(b.marks, mark) }

// needs is the program of another project without which the block cannot run; "" = none.
func (b *block) needs() string {
	for _, m := range b.marks {
		if name, ok := strings.CutPrefix(m, "needs:"); ok {
			return name
		}
	}
	return ""
}

// commandBlocks are the blocks of commands of a page, and prose is the rest of its text without any block.
func commandBlocks(t *testing.T, page string) (all []*block, prose string) {
	t.Helper()
	var open *block
	n := 0
	for line := range strings.Lines(page) {
		n++
		mark, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{line: n + 1, marks: strings.Fields(mark)}
			if len(open.marks) == 0 {
				t.Fatalf("line %d: a block without a kind", n)
			}
		case fence:
			switch {
			case open.is("sh"), open.is("python"):
				all = append(all, open)
			case open.is("output"):
				last := all[len(all)-1]
				last.output = append(last.output, strings.Split(strings.TrimSpace(open.text), "\n")...)
			}
			open = nil
		case open != nil:
			open.text += line
		default:
			prose += line
		}
	}
	if open != nil {
		t.Fatalf("the block at line %d has no end", open.line)
	}
	return all, prose
}

// TestTheManualCanBeFollowed runs every block of commands of README.md and of the manual, a page after the other as a reader does: in an
// empty folder, with the built program, block by block in one shell.
func TestTheManualCanBeFollowed(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("DOORWARD_CHECK") != "" {
				t.Fatalf("%s is missing (Debian: sudo apt-get install %[1]s)", tool)
			}
			t.Skipf("%s is missing", tool)
		}
	}
	program, skipped := compiled(t), 0
	for name, page := range manualPages(t) {
		blocks, _ := commandBlocks(t, page)
		for _, b := range blocks {
			if b.is("skip:") {
				skipped++
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			(&reader{TB: t, program: program, dir: t.TempDir()}).follow(blocks)
		})
	}
	if skipped > 1 {
		t.Errorf("%d blocks run nowhere, want at most 1", skipped)
	}
}

// reader follows a page.
type reader struct {
	testing.TB
	program, dir string
	ports        map[string]string // what the page's ports have become
	servers      []server          // of the page, that run
}

// follow runs the blocks of a page.
func (r *reader) follow(blocks []*block) {
	r.Helper()
	if err := os.Symlink(r.program, filepath.Join(r.dir, "doorward")); err != nil {
		r.Fatal(err)
	}
	r.choosePorts()
	script, ran := &strings.Builder{}, []*block{}
	fmt.Fprint(script, "set -eE -o pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n")
	for _, b := range blocks {
		if !r.runs(b) {
			continue
		}
		r.write(script, b)
		ran = append(ran, b)
	}
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
	cmd.Dir, cmd.WaitDelay = r.dir, 30*time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env = append(os.Environ(), "PATH="+r.path(), "HOME="+r.dir, "TZ=UTC", "DOORWARD_LISTEN="+r.here("127.0.0.1:8080"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		at := strings.TrimSpace(r.printed("at"))
		r.Fatalf("the block at line %s failed: %v\n%s%s\n%s", at, err, out, r.printed("out."+at), r.printed("server.log"))
	}
	for _, b := range ran {
		r.compare(b)
	}
}

// choosePorts chooses free ports for those that the pages name.
func (r *reader) choosePorts() {
	r.ports = map[string]string{}
	for _, port := range []string{"8080", "8081", "8443", "9090"} {
		r.ports[port] = choosePort(r)
	}
}

// pagePort is a port that a page names.
var pagePort = regexp.MustCompile(`\b(8080|8081|8443|9090)\b`)

// here is a text of a page with the ports that this test has.
func (r *reader) here(text string) string {
	return pagePort.ReplaceAllStringFunc(text, func(port string) string { return r.ports[port] })
}

// path finds the program, and those of others that make test has installed.
func (r *reader) path() string {
	bin, err := filepath.Abs("../../bin/openapi/bin")
	if err != nil {
		r.Fatal(err)
	}
	return strings.Join([]string{filepath.Dir(r.program), bin, os.Getenv("PATH")}, string(filepath.ListSeparator))
}

// runs says whether a block runs here.
func (r *reader) runs(b *block) bool {
	r.Helper()
	if b.is("skip:") {
		return false
	}
	tool := b.needs()
	if tool == "" {
		return true
	}
	for _, dir := range filepath.SplitList(r.path()) {
		if _, err := os.Stat(filepath.Join(dir, tool)); err == nil {
			return true
		}
	}
	if os.Getenv("DOORWARD_CHECK") != "" {
		r.Fatalf("%s is missing", tool)
	}
	return false
}

// listens and serves are the port and the folder of a server.
var (
	listens = regexp.MustCompile(`--listen \S+:(\d+)`)
	serves  = regexp.MustCompile(`--data (\S+)`)
)

// write adds a block to the script. A block of make is only planned, in the project's folder. A server that listens where an earlier one
// does takes its place, as at a terminal.
func (r *reader) write(script *strings.Builder, b *block) {
	text := indented(r.here(b.text))
	fmt.Fprintf(script, "echo %d >at\n", b.line)
	switch {
	case b.is("python"):
		if err := os.WriteFile(filepath.Join(r.dir, "page.py"), []byte(r.here(b.text)), 0o600); err != nil {
			r.Fatal(err)
		}
		fmt.Fprintf(script, "{\npython3 page.py\n} >out.%d 2>&1\n", b.line)
	case b.is("make"):
		root, err := filepath.Abs("../..")
		if err != nil {
			r.Fatal(err)
		}
		fmt.Fprintf(script, "make() { command make -C %q -n \"$@\"; }\n{\n%s} >out.%d 2>&1\nunset -f make\n", root, text, b.line)
	case b.is("server"):
		r.writeServer(script, text, b.line)
	default:
		fmt.Fprintf(script, "{\n%s} >out.%d 2>&1 </dev/null\n", text, b.line)
	}
}

// indented are the lines of a block as a terminal shows them.
func indented(text string) string {
	return regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(text, "    $1")
}

// server is a server that a page has started, in the variable server<line> of the script.
type server struct {
	data, port string
	line       int
}

// writeServer adds a command that runs until it is ended. What ran on its folder or at its port before is ended.
func (r *reader) writeServer(script *strings.Builder, text string, line int) {
	begun := server{line: line, port: r.ports["8080"]}
	if found := listens.FindStringSubmatch(text); found != nil {
		begun.port = found[1]
	}
	if found := serves.FindStringSubmatch(text); found != nil {
		begun.data = found[1]
	}
	r.servers = slices.DeleteFunc(r.servers, func(s server) bool {
		if s.data != begun.data && s.port != begun.port {
			return false
		}
		fmt.Fprintf(script, "kill $server%d; wait $server%[1]d\n", s.line)
		return true
	})
	r.servers = append(r.servers, begun)
	command := regexp.MustCompile(`(?m)^ *((?:[A-Z_]+=\S+ )*)(\S*doorward serve)`).ReplaceAllString(text, "exec env $1$2")
	fmt.Fprintf(script, "(\n%s) >out.%[2]d 2>&1 &\nserver%[2]d=$!\n", command, line)
	fmt.Fprintf(script, "until grep -q 'answers at' out.%d; do kill -0 $server%[1]d; sleep 0.05; done\n", line)
}

func (r *reader) printed(file string) string {
	text, _ := os.ReadFile(filepath.Join(r.dir, file)) // there may be none
	return string(text)
}

// compare finds the lines that a page shows in what its block has printed, in their order.
func (r *reader) compare(b *block) {
	r.Helper()
	said := r.printed(fmt.Sprintf("out.%d", b.line))
	rest := said
	for _, line := range b.output {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(r.here(strings.TrimSpace(line))), "…", ".*")
		found := regexp.MustCompile(`(?m)` + pattern).FindStringIndex(rest)
		if found == nil {
			r.Errorf("the block at line %d does not print %q, or not in this place:\n%s", b.line, line, said)
			return
		}
		rest = rest[found[1]:]
	}
}

// declaresFlag is where a command declares a flag.
var declaresFlag = regexp.MustCompile(`\.(?:\w*Var|Bool|String|StringArray|Int|Int64)\((?:[^"\n]*, )?"([a-z][a-z-]+)",`)

// TestTheManualNamesWhatThereIs: tests, metrics and flags that a page names outside of its blocks exist.
func TestTheManualNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	source, tests := sources(t)
	flags := map[string]bool{"help": true, "version": true}
	for _, found := range declaresFlag.FindAllStringSubmatch(source, -1) {
		flags[found[1]] = true
	}
	operate, _ := help.Find("operate")
	needs := regexp.MustCompile(`\.need\("([a-z_]+)"`).FindAllStringSubmatch(source, -1)
	if len(needs) == 0 {
		t.Error("no need of a status is found")
	}
	for _, found := range needs {
		if !strings.Contains(operate.Text, "`"+found[1]+"`") {
			t.Errorf("status says %s, and the manual does not say what that is", found[1])
		}
	}
	for name, page := range manualPages(t) {
		_, prose := commandBlocks(t, page)
		for _, found := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(prose, -1) {
			if !strings.Contains(tests, "func "+found+"(") {
				t.Errorf("%s names %s, and there is no such test", name, found)
			}
		}
		for _, found := range regexp.MustCompile(`\b(doorward_[a-z_]*[a-z])\b`).FindAllStringSubmatch(prose, -1) {
			peer, ofPeer := strings.CutPrefix(found[1], "doorward_peer_")
			if !strings.Contains(source, `"`+found[1]+`"`) && !(ofPeer && strings.Contains(source, `peerDesc("`+peer+`"`)) {
				t.Errorf("%s names the metric %s, and there is none", name, found[1])
			}
		}
		for _, found := range regexp.MustCompile("[` ]--([a-z][a-z-]+)").FindAllStringSubmatch(prose, -1) {
			if !flags[found[1]] {
				t.Errorf("%s names the flag --%s, and no command has it", name, found[1])
			}
		}
	}
}

// sources are the texts of all Go files, those of the tests by themselves.
func sources(t *testing.T) (source, tests string) {
	t.Helper()
	var product, proof bytes.Buffer
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && e.Name() == "bin" {
			return cmp.Or(err, fs.SkipDir)
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if strings.HasSuffix(path, "_test.go") {
			proof.Write(text)
		} else {
			product.Write(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return product.String(), proof.String()
}

// The most that README.md and a line of a page may have.
const (
	readmeBytes = 8 << 10
	pageColumns = 100
)

// A sentence is a riddle if it has a word that leaves open of what it speaks.
var (
	sentence = regexp.MustCompile(`[^.!?:]+[.!?:]`)
	riddle   = regexp.MustCompile(`(?i)\b(who|whose|whom|whoever|nobody|somebody|anew|such|meanwhile)\b`)
)

// TestTheManualIsReadable: README.md is short, no line of prose is wider than a terminal, and sentences name what they speak of.
func TestTheManualIsReadable(t *testing.T) {
	t.Parallel()
	pages := manualPages(t)
	if n := len(pages["README"]); n > readmeBytes {
		t.Errorf("README.md has %d bytes, want at most %d", n, readmeBytes)
	}
	for name, page := range pages {
		_, prose := commandBlocks(t, page)
		text := ""
		for line := range strings.Lines(prose) {
			if strings.HasPrefix(line, "|") {
				continue // a table
			}
			if n := utf8.RuneCountInString(line); n > pageColumns {
				t.Errorf("%s has a line of %d characters, want at most %d: %s", name, n, pageColumns, line)
			}
			text += line
		}
		all, riddles := 0, 0
		for _, s := range sentence.FindAllString(text, -1) {
			if all++; riddle.MatchString(s) {
				riddles++
				t.Logf("%s: %q", name, strings.Join(strings.Fields(s), " "))
			}
		}
		if riddles*50 > all {
			t.Errorf("%s: %d of %d sentences are riddles, want less than 2 %%", name, riddles, all)
		}
	}
}

// TestHelpPrintsThePageAsCalled: the commands of a printed page can be pasted, whatever path the program was called by.
func TestHelpPrintsThePageAsCalled(t *testing.T) {
	t.Parallel()
	page := help.Topic{Text: "# a: b\n\n```sh\ndoorward serve --data data\nid=$(doorward x | doorward y)\n. <(doorward c)\nA=b doorward z\nuntil doorward s; do while doorward t; do sleep 1; done; done\n```\nThe doorward program.\n\n```text\ndoorward\n```\n\n```python\nfor x in y:\n    z\n```\n"}
	want := "# a: b\n\n    ./doorward serve --data data\n    id=$(./doorward x | ./doorward y)\n    . <(./doorward c)\n    A=b ./doorward z\n    until ./doorward s; do while ./doorward t; do sleep 1; done; done\nThe doorward program.\n\n    doorward\n\nfor x in y:\n    z\n"
	if got := page.Printed("./doorward"); got != want {
		t.Errorf("it is printed as\n%s\nwant\n%s", got, want)
	}
	bare := regexp.MustCompile(`(?m)^.*(?:^|[^/])\bdoorward .*`)
	for name, text := range manualPages(t) {
		blocks, _ := commandBlocks(t, text)
		for _, b := range blocks {
			page := help.Topic{Text: "```sh\n" + b.text + "```\n"}
			if line := bare.FindString(page.Printed("./doorward")); b.is("sh") && line != "" {
				t.Errorf("%s: the line at %d calls another program: %s", name, b.line, line)
			}
		}
	}
}

// TestEachCommandSaysWhatItDoes: --help begins with what the command does, as the list of commands says it, and shows an example. The flags of
// an example exist.
func TestEachCommandSaysWhatItDoes(t *testing.T) {
	t.Parallel()
	root, _ := (&Main{Env: os.LookupEnv}).root(&console.Console{Name: "doorward"})
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, below := range cmd.Commands() {
			look(below)
		}
		if cmd.HasSubCommands() || slices.Contains([]string{"help", "version"}, cmd.Name()) {
			return
		}
		verb, _, _ := strings.Cut(cmd.Short, " ")
		if !strings.HasPrefix(cmd.Long, verb+" ") {
			t.Errorf("%s --help begins with %.40q, want %q first", cmd.CommandPath(), cmd.Long, verb)
		}
		if !strings.Contains(cmd.Example, cmd.CommandPath()+" ") {
			t.Errorf("%s --help shows no example of it", cmd.CommandPath())
		}
		for _, found := range regexp.MustCompile(` --([a-z][a-z-]*)`).FindAllStringSubmatch(cmd.Example, -1) {
			if cmd.Flag(found[1]) == nil {
				t.Errorf("the example of %s has --%s, and the command has not", cmd.CommandPath(), found[1])
			}
		}
	}
	look(root)
}
