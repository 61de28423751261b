package sync_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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

// pouch runs a script with PouchDB against the database of notes.
func (s *site) pouch(folder, script string, args ...string) ([]byte, error) {
	s.Helper()
	return s.node(append([]string{filepath.Join("testdata", "pouch", script)}, args...), "POUCH="+pouchFolder(s), "FOLDER="+folder)
}

// node runs a script against the database of notes.
func (s *site) node(args []string, env ...string) ([]byte, error) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Env = append(append(os.Environ(), env...), "URL_OF_DATABASE="+s.url+"/notes", "KEY="+s.auth[0], "SECRET="+s.auth[1])
	return cmd.CombinedOutput()
}

// TestRxDB: what two of its apps do reaches the other, and nothing that a person wrote is dropped in silence.
func TestRxDB(t *testing.T) {
	t.Parallel()
	folder := npmFolder(t, "RXDB", "rxdb")
	s := newSite(t).as("event:1", "sync:*")
	if out, err := s.node([]string{filepath.Join("testdata", "rxdb", "both_ways.mjs")}, "RXDB="+folder); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestPouchDB(t *testing.T) {
	t.Parallel()
	pouchFolder(t)
	for _, script := range []string{"push_and_pull.mjs", "live.mjs", "conflicts.mjs", "attachments.mjs", "denied.mjs"} {
		t.Run(script, func(t *testing.T) {
			s := newSite(t).as("event:1", "sync:*")
			if out, err := s.pouch(t.TempDir(), script); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestPouchDBGoesOnAfterItWasKilled(t *testing.T) {
	t.Parallel()
	pouchFolder(t)
	s, dir := newSite(t), t.TempDir()
	if out, err := s.pouch(dir, "resume.mjs", "begin"); err == nil || err.Error() != "signal: killed" {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := s.pouch(dir, "resume.mjs"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestPouchDBReadsWithAKeyThatReads(t *testing.T) {
	t.Parallel()
	pouchFolder(t)
	s := newSite(t)
	s.put("theirs", `{}`)
	if out, err := s.as("church:1", "sync:GET").pouch(t.TempDir(), "readonly.mjs"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
