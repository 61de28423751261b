package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"doorward/kv/table"
)

// TestVerifyOfAServedStoreDoesNotEndItsServer: in the file under a server pages lead back to themselves, which ends whoever walks over
// them, by an overflow of its stack. That is the child, on a copy which goes with it.
func TestVerifyOfAServedStoreDoesNotEndItsServer(t *testing.T) {
	t.Parallel()
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
	var made any
	p.run(&made, "demo", "--size", "s")
	p.run(&made, "backup", filepath.Join(t.TempDir(), "monday.db"))
	s := p.serve()
	defer func() {
		s.kill()
		<-s.exited
	}()
	p.run(&made, "verify")
	if n := loops(t, table.Path(p.dir)); n == 0 {
		t.Fatal("the file has no page that leads to others")
	}
	cmd := exec.Command(p.path, "verify", "--data", p.dir)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(string(out), table.Path(p.dir)+": ") || !strings.Contains(string(out), "is damaged: ") ||
		!strings.Contains(string(out), "monday.db, of ") {
		t.Errorf("verify of a damaged file beside its server = %v: %s, want 1, the file and its backup", err, out)
	}
	resp, err := http.Get(s.url + "/healthz")
	if err != nil {
		t.Fatalf("the server is gone: %v", err)
	}
	_ = resp.Body.Close() // that it answers is all
	if left, err := filepath.Glob(filepath.Join(p.dir, ".doorward-backup-*")); err != nil || len(left) > 0 {
		t.Errorf("verify leaves %v, %v", left, err)
	}
}

// loops has every page of a file that leads to others lead to itself, but for those that tell where its buckets are, and answers how
// many there are.
func loops(t *testing.T, path string) (n int) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for page := 2 * 8192; page < len(whole); page += 8192 {
		const branch, children = 1, 16 + 8
		if binary.LittleEndian.Uint16(whole[page+8:]) != branch || bytes.Contains(whole[page:page+8192], []byte("kind:")) {
			continue
		}
		n++
		for i := range int(binary.LittleEndian.Uint16(whole[page+10:])) {
			if _, err := f.WriteAt(whole[page:page+8], int64(page+children+16*i)); err != nil {
				t.Fatal(errors.Join(err, f.Close()))
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}
