package main

import (
	"bufio"
	"bytes"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptPatience is how long a script waits for what must come.
const scriptPatience = 30 * time.Second

// scriptUntil asks again and again until the answer is as wanted.
func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 4 {
		ts.Fatalf("usage: [!] until PATTERN STATUS METHOD URL [BODY]")
	}
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	last := ""
	for ends := time.Now().Add(scriptPatience); time.Now().Before(ends); time.Sleep(20 * time.Millisecond) { // between two looks
		status, answer := scriptTry(ts, args[2:])
		last = strconv.Itoa(status) + " " + answer
		if strconv.Itoa(status) == args[1] && pattern.MatchString(answer) != neg {
			_, _ = io.WriteString(ts.Stdout(), answer)
			return
		}
	}
	ts.Fatalf("%s never came; the last answer was %s", args[0], last)
}

// scriptTry sends one request; status 0 is none that was answered.
func scriptTry(ts *testscript.TestScript, args []string) (status int, answer string) {
	req, err := http.NewRequest(args[0], args[1], strings.NewReader(strings.Join(args[2:], "")))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	if key := ts.Getenv("KEY"); key != "" {
		req.SetBasicAuth(key, ts.Getenv("SECRET"))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	ts.Check(err)
	return resp.StatusCode, string(b)
}

// link is a cable that can be cut: connections to its address end at another.
type link struct {
	listener net.Listener
	target   string
	mu       sync.Mutex // guards what follows
	cut      bool
	conns    map[net.Conn]bool
}

func scriptLink(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: link NAME ADDRESS")
	}
	links := ts.Value(servers{}).(*running).links
	if l := links[args[0]]; l != nil { // it goes to another address from now on
		l.mu.Lock()
		l.target = args[1]
		l.mu.Unlock()
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	l := &link{listener: listener, target: args[1], conns: map[net.Conn]bool{}}
	links[args[0]] = l
	ts.Setenv(args[0], listener.Addr().String())
	ts.Defer(func() {
		_ = listener.Close()
		l.set(true)
	})
	go l.run()
}

func scriptCut(ts *testscript.TestScript, _ bool, args []string)  { scriptLinkOf(ts, args).set(true) }
func scriptMend(ts *testscript.TestScript, _ bool, args []string) { scriptLinkOf(ts, args).set(false) }

func scriptLinkOf(ts *testscript.TestScript, args []string) *link {
	l := ts.Value(servers{}).(*running).links[args[0]]
	if l == nil {
		ts.Fatalf("no link %s", args[0])
	}
	return l
}

// set cuts the cable, with all that goes through it, or mends it.
func (l *link) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	if cut {
		for c := range l.conns {
			_ = c.Close()
		}
	}
}

// gateway is a proxy that may let some requests through and others not.
type gateway struct {
	target   atomic.Pointer[url.URL]
	hindered atomic.Pointer[regexp.Regexp]
}

// ServeHTTP passes a request on.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := g.hindered.Load(); p != nil && p.MatchString(r.URL.Path) {
		http.Error(w, "hindered", http.StatusServiceUnavailable)
		return
	}
	proxy := httputil.NewSingleHostReverseProxy(g.target.Load())
	proxy.ErrorLog = log.New(io.Discard, "", 0) // who asks sees 502
	proxy.ServeHTTP(w, r)
}

func scriptGateway(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: gateway NAME ADDRESS")
	}
	gateways, target := ts.Value(servers{}).(*running).gateways, &url.URL{Scheme: "http", Host: args[1]}
	if g := gateways[args[0]]; g != nil { // it goes to another address from now on
		g.target.Store(target)
		return
	}
	g := &gateway{}
	g.target.Store(target)
	s := httptest.NewServer(g)
	ts.Defer(func() {
		s.CloseClientConnections()
		s.Close()
	})
	gateways[args[0]] = g
	ts.Setenv(args[0], s.Listener.Addr().String())
}

func scriptHinder(ts *testscript.TestScript, _ bool, args []string) {
	g := ts.Value(servers{}).(*running).gateways[args[0]]
	if g == nil {
		ts.Fatalf("no gateway %s", args[0])
	}
	p, err := regexp.Compile(args[1])
	ts.Check(err)
	g.hindered.Store(p)
}

func (l *link) run() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		go l.carry(from)
	}
}

func (l *link) carry(from net.Conn) {
	defer func() { _ = from.Close() }()
	l.mu.Lock()
	target, cut := l.target, l.cut
	l.mu.Unlock()
	if cut {
		return
	}
	to, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	l.hold(from, to)
	defer l.let(from, to)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	_, _ = io.Copy(from, to)
	_ = from.Close()
	<-done
}

func (l *link) hold(all ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range all {
		l.conns[c] = true
		if l.cut {
			_ = c.Close()
		}
	}
}

func (l *link) let(all ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range all {
		delete(l.conns, c)
	}
}

// scriptProcess starts a server as a process of its own, which can be killed.
func scriptProcess(ts *testscript.TestScript, _ bool, args []string) {
	cmd := exec.Command("doorward", append([]string{"serve", "--data", ts.MkAbs(args[1]), "--listen", "127.0.0.1:0"}, args[2:]...)...)
	path, err := os.Executable()
	ts.Check(err)
	cmd.Path, cmd.Err, cmd.Env = path, nil, append(os.Environ(), "DOORWARD_MACHINE_ID="+ts.Getenv("DOORWARD_MACHINE_ID"), "SSL_CERT_FILE="+ts.Getenv("SSL_CERT_FILE"))
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	address := make(chan string, 1)
	go func() {
		defer close(address)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if found := answersAt.FindStringSubmatch(lines.Text()); found != nil {
				_, at, _ := strings.Cut(found[1], "://")
				address <- at
			}
		}
	}()
	at, ok := <-address
	if !ok {
		ts.Fatalf("the server did not start")
	}
	ts.Setenv(args[0], at)
	killed := sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ts.Value(servers{}).(*running).processes[args[0]] = killed
	ts.Defer(killed)
}

// scriptUnplug ends a process as a power cut does.
func scriptUnplug(ts *testscript.TestScript, _ bool, args []string) {
	kill := ts.Value(servers{}).(*running).processes[args[0]]
	if kill == nil {
		ts.Fatalf("no process %s", args[0])
	}
	kill()
}

// scriptHolds looks for a text in the bytes of all files of a folder.
func scriptHolds(ts *testscript.TestScript, neg bool, args []string) {
	found := ""
	err := filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(args[1])) {
			found = path
		}
		return err
	})
	ts.Check(err)
	if (found == "") != neg {
		ts.Fatalf("%q in the files of %s: found in %q", args[1], args[0], found)
	}
}

// scriptGone waits for a server to end by itself.
func scriptGone(ts *testscript.TestScript, _ bool, args []string) {
	r := ts.Value(servers{}).(*running)
	s := r.servers[args[0]]
	if s == nil {
		ts.Fatalf("no server %s", args[0])
	}
	select {
	case code := <-s.done:
		delete(r.servers, args[0])
		_, _ = io.WriteString(ts.Stdout(), s.out.String())
		if code != 0 {
			ts.Fatalf("serve ended with %d", code)
		}
	case <-time.After(scriptPatience):
		ts.Fatalf("%s goes on", args[0])
	}
}

// scriptKey makes a key in a folder and goes on with it.
func scriptKey(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: key NAME DIR LEVEL PERMISSIONS")
	}
	ts.Check(ts.Exec("doorward", "keys", "add", "--data", args[1], "--name", args[0], "--level", args[2], "--allow", args[3], "--json"))
	for _, member := range []string{"key", "secret"} {
		scriptTake(ts, false, []string{args[0] + "_" + member, member})
	}
	scriptAs(ts, false, args[:1])
}

// scriptAs goes on with a key that was made before.
func scriptAs(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv("KEY", ts.Getenv(args[0]+"_key"))
	ts.Setenv("SECRET", ts.Getenv(args[0]+"_secret"))
}

// scriptJoin enrols a folder at the centre in another, and has it join over a link.
func scriptJoin(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 4 {
		ts.Fatalf("usage: join DIR CENTREDIR ADDRESS flags of enrol")
	}
	ts.Check(ts.Exec("doorward", append([]string{"venue", "enrol", "--data", args[1], "--name", args[0], "--json"}, args[3:]...)...))
	scriptTake(ts, false, []string{"CODE", "code"})
	ts.Check(ts.Exec("doorward", "venue", "join", "--data", args[0], "--upstream", "http://"+args[2], "--code", ts.Getenv("CODE")))
}

// scriptCertify writes a pair for this machine into a folder, and the certificate of the authority that has signed it.
func scriptCertify(ts *testscript.TestScript, _ bool, args []string) {
	ca, err := newAuthority()
	ts.Check(err)
	ts.Check(ca.issue(ts.MkAbs(args[0]), time.Now().Add(time.Hour)))
}
