package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestDoorsOutliveWhoeverReadTheLog: the program that the log goes to ends, and then something is logged.
func TestDoorsOutliveWhoeverReadTheLog(t *testing.T) {
	t.Parallel()
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(p.path, "serve", "--data", p.dir, "--listen", "127.0.0.1:0")
	cmd.Stdout, cmd.Stderr = write, write
	diesWithTest(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill() // it may have died already
		_ = cmd.Wait()
	}()
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	var url string
	for lines := bufio.NewScanner(read); url == "" && lines.Scan(); {
		if found := answersAt.FindStringSubmatch(lines.Text()); found != nil {
			url = found[1]
		}
	}
	if err := read.Close(); err != nil || url == "" {
		t.Fatalf("serve answers at %q, %v", url, err)
	}
	var compacted any
	p.run(&compacted, "compact") // which is logged
	resp, err := http.Get(url + "/healthz")
	if err != nil {
		t.Fatalf("the server is gone: %v", err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("healthz = %d, %v", resp.StatusCode, err)
	}
}
