package sync_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// pouchFolder is where PouchDB is installed: POUCH, as make test sets it, or where it did so before.
func pouchFolder(t testing.TB) string {
	t.Helper()
	told := os.Getenv("POUCH")
	dir := told
	if dir == "" {
		dir = filepath.Join("..", "bin", "pouch")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(dir, "node_modules", "pouchdb"))
	if err == nil {
		_, err = exec.LookPath("node")
	}
	switch {
	case err != nil && told != "":
		t.Fatalf("PouchDB is to be tested, and node or pouchdb is missing: %v", err)
	case err != nil:
		t.Skip("node or pouchdb is missing; make test installs them")
	}
	return dir
}

// pouch runs a script with PouchDB against the database of notes.
func (s *site) pouch(folder, script string, args ...string) ([]byte, error) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{filepath.Join("testdata", "pouch", script)}, args...)...)
	cmd.Env = append(os.Environ(), "POUCH="+pouchFolder(s), "URL_OF_DATABASE="+s.url+"/notes", "KEY="+s.auth[0], "SECRET="+s.auth[1], "FOLDER="+folder)
	return cmd.CombinedOutput()
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
