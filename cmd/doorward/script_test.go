package main

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"doorward/kv"
)

func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"doorward": main, "checkimages": checkImages})
}

// TestScripts runs the command line as a person does. Besides the usual commands a script has:
//
//	serve NAME DIR [flags]       starts a server in the background; its address is then in $NAME, its clock is ahead by $AHEAD
//	quit NAME                    ends it as a signal does, and waits; what has begun may take $DRAIN
//	ask STATUS METHOD URL [BODY] sends a request with the key in $KEY and $SECRET; its answer is in stdout
//	dawdle METHOD URL            begins to send a request, which never ends
//	take NAME MEMBER             keeps a member of the JSON object in stdout as $NAME
//	mode FILE MODE               checks a file's permissions
//	give DIR UID                 hands a folder to another user
//	spoil FILE                   overwrites stretches all over a file
//	measure DIR OFFSET           tells the store in a folder how far a peer's clock is ahead, as meeting one does
//	until PATTERN STATUS METHOD URL [BODY]  asks until the answer is so, for half a minute; ! until, until it is not
//	gone NAME                    waits until a server has ended by itself
//	link NAME ADDRESS            lays a cable; what dials $NAME reaches the address
//	cut NAME, mend NAME          cuts it, and mends it
//	gateway NAME ADDRESS         sets up a proxy; what is asked of $NAME is asked of the address
//	hinder NAME PATTERN          has it answer 503 to requests whose paths match
//	process NAME DIR             starts a server as a process of its own
//	unplug NAME                  ends it as a power cut does
//	holds DIR TEXT               looks for a text in the bytes of a folder's files
//	key NAME DIR LEVEL ALLOW     makes a key and asks with it from then on
//	as NAME                      asks with a key that was made before
//	join DIR CENTREDIR ADDRESS   enrols a laptop of that name, with flags of enrol, and joins
//	certify DIR                  writes cert.pem and key.pem for this machine, and ca.pem of who has signed them
//	lacks DIR WORD...            looks for words in all files of a folder
//
// $REPO is the folder of the whole project.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			repo, err := filepath.Abs("../..")
			if err != nil {
				return err
			}
			e.Setenv("REPO", repo)
			e.Values[servers{}] = &running{servers: map[string]*running1{}, links: map[string]*link{}, gateways: map[string]*gateway{}, processes: map[string]func(){}}
			e.Defer(func() {
				said := e.Values[servers{}].(*running).stopAll()
				if t, ok := e.T().(interface{ Failed() bool }); ok && t.Failed() {
					e.T().Log(said)
				}
			})
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": scriptServe, "quit": scriptQuit, "ask": scriptAsk, "take": scriptTake, "mode": scriptMode, "give": scriptGive,
			"spoil": scriptSpoil, "measure": scriptMeasure, "lacks": scriptLacks, "until": scriptUntil, "gone": scriptGone, "link": scriptLink,
			"cut": scriptCut, "mend": scriptMend, "process": scriptProcess, "unplug": scriptUnplug, "holds": scriptHolds,
			"key": scriptKey, "as": scriptAs, "join": scriptJoin, "dawdle": scriptDawdle, "certify": scriptCertify,
			"gateway": scriptGateway, "hinder": scriptHinder,
		},
		Condition:          func(cond string) (bool, error) { return cond == "root" && os.Geteuid() == 0, nil },
		RequireUniqueNames: true,
	})
}

// servers is the key of a script's running servers.
type servers struct{}

type running struct {
	servers   map[string]*running1
	links     map[string]*link
	gateways  map[string]*gateway
	processes map[string]func() // what kills them
}

// running1 is one server of a script.
type running1 struct {
	stop func()
	done chan int
	out  *output
}

// stopAll ends the servers that still run, and returns what they have printed.
func (r *running) stopAll() (said string) {
	for name, s := range maps.Clone(r.servers) {
		r.end(name)
		said += name + " said:\n" + s.out.String()
	}
	return said
}

func (r *running) end(name string) int {
	s := r.servers[name]
	delete(r.servers, name)
	s.stop()
	return <-s.done
}

// output is what a server prints.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: serve NAME DIR [flags]")
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &running1{stop: cancel, done: make(chan int, 1), out: &output{}}
	ready := make(chan string, 1)
	patience, _ := time.ParseDuration(ts.Getenv("DRAIN")) // where it is not set, what serve has by itself
	ahead, _ := time.ParseDuration(ts.Getenv("AHEAD"))    // where it is not set the clock is right
	port, release, err := holdPort()                      // a restore closes it for a moment
	ts.Check(err)
	ts.Defer(release)
	m := &Main{
		Clock: func() time.Time { return time.Now().Add(ahead) },
		Args:  append([]string{"serve", "--data", ts.MkAbs(args[1]), "--listen", "127.0.0.1:" + port}, args[2:]...),
		Stdin: strings.NewReader(""), Stdout: s.out, Stderr: s.out,
		Env:   func(string) (string, bool) { return "", false },
		Ready: func(address string) { ready <- address }, Drain: patience,
	}
	go func() { s.done <- m.Run(ctx) }()
	select {
	case address := <-ready:
		if neg {
			ts.Fatalf("serve answers, but should not")
		}
		ts.Setenv(args[0], address)
		ts.Value(servers{}).(*running).servers[args[0]] = s
	case code := <-s.done:
		cancel()
		_, _ = io.WriteString(ts.Stderr(), s.out.String())
		if !neg {
			ts.Fatalf("serve ended with %d: %s", code, s.out)
		}
	}
}

func scriptQuit(ts *testscript.TestScript, _ bool, args []string) {
	r := ts.Value(servers{}).(*running)
	s := r.servers[args[0]]
	if s == nil {
		ts.Fatalf("no server %s", args[0])
	}
	code := r.end(args[0])
	_, _ = io.WriteString(ts.Stdout(), s.out.String())
	if code != 0 {
		ts.Fatalf("serve ended with %d: %s", code, s.out)
	}
}

func scriptAsk(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: ask STATUS METHOD URL [BODY]")
	}
	var body io.Reader
	if len(args) > 3 {
		body = strings.NewReader(args[3])
	}
	req, err := http.NewRequest(args[1], args[2], body)
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	if key := ts.Getenv("KEY"); key != "" {
		req.SetBasicAuth(key, ts.Getenv("SECRET"))
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	ts.Check(err)
	_, _ = ts.Stdout().Write(answer)
	if strconv.Itoa(resp.StatusCode) != args[0] {
		ts.Fatalf("%s %s = %s %s, want %s", args[1], args[2], resp.Status, answer, args[0])
	}
}

func scriptTake(ts *testscript.TestScript, _ bool, args []string) {
	_, after, ok := strings.Cut(ts.ReadFile("stdout"), `"`+args[1]+`":`)
	if !ok {
		ts.Fatalf("no member %s", args[1])
	}
	value := strings.TrimLeft(after, `["`)
	ts.Setenv(args[0], value[:strings.IndexAny(value, `",}]`)])
}

func scriptMode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := strconv.FormatUint(uint64(info.Mode().Perm()), 8); got != args[1] {
		ts.Fatalf("mode of %s = %s, want %s", args[0], got, args[1])
	}
}

func scriptGive(ts *testscript.TestScript, _ bool, args []string) {
	uid, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(syscall.Chown(filepath.Clean(ts.MkAbs(args[0])), uid, uid))
}

func scriptSpoil(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	info, err := os.Stat(name)
	ts.Check(err)
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	ts.Check(err)
	for at := int64(100 << 10); at < info.Size(); at += 50_000 {
		_, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, 700), at)
		ts.Check(err)
	}
	ts.Check(f.Close())
}

func scriptMeasure(ts *testscript.TestScript, _ bool, args []string) {
	offset, err := time.ParseDuration(args[1])
	ts.Check(err)
	store, err := kv.Open(kv.Config{Dir: ts.MkAbs(args[0]), Aside: true})
	ts.Check(err)
	ts.Check(store.Tables.Clock.Measure("centre", offset, time.Now()))
	ts.Check(store.Close())
}

func scriptLacks(ts *testscript.TestScript, _ bool, args []string) {
	err := filepath.WalkDir(ts.MkAbs(args[0]), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, word := range args[1:] {
			if bytes.Contains(bytes.ToLower(text), []byte(strings.ToLower(word))) {
				ts.Fatalf("%s holds %s", path, word)
			}
		}
		return err
	})
	ts.Check(err)
}
