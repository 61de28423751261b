package sync_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"doorward/sync/dial"
	"doorward/sync/peertest"
	"doorward/sync/replicate"

	"github.com/go-kivik/kivik/v4"
	"github.com/go-kivik/kivik/v4/couchdb"
	"github.com/google/go-cmp/cmp"
)

// pouchServer starts a pouchdb-server that keeps everything in memory, and answers its address.
func pouchServer(t testing.TB) string {
	t.Helper()
	program := filepath.Join(pouchFolder(t), "node_modules", "pouchdb-server", "bin", "pouchdb-server")
	if _, err := os.Stat(program); err != nil {
		t.Skip("pouchdb-server is missing; make test installs it")
	}
	for range 5 { // another process may take the port before node does
		if address, ok := startPouch(t, program); ok {
			return address
		}
	}
	t.Fatal("pouchdb-server does not start")
	return ""
}

// startPouch starts a pouchdb-server at a port that is free. ok is false if it ends at once.
func startPouch(t testing.TB, program string) (address string, ok bool) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	cmd := exec.CommandContext(ctx, "node", program, "--in-memory", "--host", "127.0.0.1", "--port", port)
	cmd.Dir = t.TempDir() // it writes a log and a configuration
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadString('\n')
		if err != nil {
			t.Logf("pouchdb-server at port %s: %v", port, err)
			return "", false
		}
		if strings.Contains(text, "navigate to") || strings.Contains(text, "started") || strings.Contains(text, "listening") {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return "http://127.0.0.1:" + port, true
		}
	}
}

// elsewhere is a database at another server.
func elsewhere(t testing.TB, address string) *replicate.Remote {
	t.Helper()
	there, err := replicate.NewRemote(replicate.RemoteConfig{Config: dial.Config{URL: address}, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return there
}

func TestPouchDBServerIsAPeer(t *testing.T) {
	t.Parallel()
	address := pouchServer(t) + "/notes"
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	a.Fill(700)
	first := peertest.CopyAll(t, a.Local(), elsewhere(t, address))
	if first.Failures != 0 || first.Written != 705 {
		t.Errorf("push = %+v", first)
	}
	if again := peertest.CopyAll(t, a.Local(), elsewhere(t, address)); again.Checked != 0 {
		t.Errorf("a second push = %+v", again)
	}
	peertest.CopyAll(t, elsewhere(t, address), b.Local())
	peertest.WantSame(t, a, b, peertest.Revpos)
	if again := peertest.CopyAll(t, elsewhere(t, address), b.Local()); again.Checked != 0 {
		t.Errorf("a second pull = %+v", again)
	}
	if back := peertest.CopyAll(t, elsewhere(t, address), a.Local()); back.Read != 0 {
		t.Errorf("the way back = %+v", back)
	}
	a.Put("late", `{"_attachments":{"a":{"content_type":"text/plain","data":"aGVsbG8="}}}`)
	peertest.CopyAll(t, a.Local(), elsewhere(t, address))
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = replicate.Run(ctx, replicate.Job{Source: elsewhere(t, address), Target: b.Local(), Live: true})
	}()
	peertest.AwaitDoc(t, b, "late")
	end()
	<-ended
	peertest.WantSame(t, a, b, peertest.Revpos)
}

// pouchFolder is where PouchDB is installed.
func pouchFolder(t testing.TB) string {
	t.Helper()
	return npmFolder(t, "POUCH", "pouchdb")
}

// npmFolder is where a client is installed: where a variable says, as make test sets it, or where that did so before.
func npmFolder(t testing.TB, variable, client string) string {
	t.Helper()
	told := os.Getenv(variable)
	dir := told
	if dir == "" {
		dir = filepath.Join("..", "bin", strings.ToLower(variable))
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(dir, "node_modules", client))
	if err == nil {
		_, err = exec.LookPath("node")
	}
	switch {
	case err != nil && told != "":
		t.Fatalf("%s is to be tested, and it or node is missing: %v", client, err)
	case err != nil:
		t.Skipf("node or %s is missing; make test installs them", client)
	}
	return dir
}

// runPouch runs a script with PouchDB against the database of notes.
func runPouch(s *peertest.Site, folder, script string, args ...string) ([]byte, error) {
	s.Helper()
	return runNode(s, append([]string{filepath.Join("testdata", "pouch", script)}, args...), "POUCH="+pouchFolder(s), "FOLDER="+folder)
}

// runNode runs a script against the database of notes.
func runNode(s *peertest.Site, args []string, env ...string) ([]byte, error) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Env = append(append(os.Environ(), env...), "URL_OF_DATABASE="+s.URL+"/notes", "KEY="+s.Auth[0], "SECRET="+s.Auth[1])
	return cmd.CombinedOutput()
}

// TestRxDB: what two of its apps do reaches the other, and nothing that a person wrote is dropped in silence.
func TestRxDB(t *testing.T) {
	t.Parallel()
	folder := npmFolder(t, "RXDB", "rxdb")
	s := peertest.NewSite(t).As("denomination", "sync:*")
	if out, err := runNode(s, []string{filepath.Join("testdata", "rxdb", "both_ways.mjs")}, "RXDB="+folder); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestPouchDB(t *testing.T) {
	t.Parallel()
	pouchFolder(t)
	for _, script := range []string{"push_and_pull.mjs", "live.mjs", "conflicts.mjs", "attachments.mjs", "denied.mjs"} {
		t.Run(script, func(t *testing.T) {
			s := peertest.NewSite(t).As("denomination", "sync:*")
			if out, err := runPouch(s, t.TempDir(), script); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestPouchDBGoesOnAfterItWasKilled(t *testing.T) {
	t.Parallel()
	pouchFolder(t)
	s, dir := peertest.NewSite(t), t.TempDir()
	if out, err := runPouch(s, dir, "resume.mjs", "begin"); err == nil || err.Error() != "signal: killed" {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := runPouch(s, dir, "resume.mjs"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestPouchDBReadsWithAKeyThatReads(t *testing.T) {
	t.Parallel()
	pouchFolder(t)
	s := peertest.NewSite(t)
	s.Put("theirs", `{}`)
	if out, err := runPouch(s.As("denomination", "sync:GET"), t.TempDir(), "readonly.mjs"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// kivikDB is a database of the site as the kivik library has it.
func kivikDB(s *peertest.Site, name string) *kivik.DB {
	s.Helper()
	c, err := kivik.New("couch", s.URL, couchdb.BasicAuth(s.Auth[0], s.Auth[1]))
	peertest.NoError(s, err)
	s.Cleanup(func() { _ = c.Close() })
	return c.DB(name)
}

// kivikCopy has kivik copy a database to another site, and answers how many documents it wrote.
func kivikCopy(s *peertest.Site, to *peertest.Site, name string) int {
	s.Helper()
	done, err := kivik.Replicate(s.Context(), kivikDB(to, name), kivikDB(s, name))
	if err != nil || done.DocWriteFailures > 0 {
		s.Fatalf("kivik.Replicate = %+v, %v", done, err)
	}
	return done.DocsWritten
}

// TestKivikReplicates: a Go replicator that is not ours, which asks for one document at a time, as multipart, and puts them one by one.
func TestKivikReplicates(t *testing.T) {
	t.Parallel()
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	for i := range 25 {
		a.Put(fmt.Sprintf("doc%02d", i), fmt.Sprintf(`{"n":%d}`, i))
	}
	first := a.Put("twice", `{"v":1}`)
	a.Put("twice", `{"v":2,"_rev":"`+first+`"}`)
	const other = "0123456789abcdef0123456789abcdef"
	a.Want(201, "POST", "/notes/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"twice","_rev":"2-`+other+`","_revisions":{"start":2,"ids":["`+other+`","`+first[2:]+`"]}}]}`)
	a.Want(200, "DELETE", "/notes/gone?rev="+a.Put("gone", `{}`), "")
	a.Put("small ä", `{"_attachments":{"small ä.txt":{"content_type":"text/plain","data":"aGVsbG8="}}}`)
	a.Put("_design/views", `{"language":"javascript"}`)
	kivikCopy(a, b, "notes")
	if diff := cmp.Diff(a.Content(), b.Content()); diff != "" {
		t.Errorf("what came (-source +target):\n%s", diff)
	}
	b.Put("answer", `{"of":"the other"}`)
	kivikCopy(b, a, "notes")
	if diff := cmp.Diff(b.Content(), a.Content()); diff != "" {
		t.Errorf("what went back (-source +target):\n%s", diff)
	}
	if again := kivikCopy(a, b, "notes"); again != 0 {
		t.Errorf("the third time %d documents are written, want none", again)
	}
}
