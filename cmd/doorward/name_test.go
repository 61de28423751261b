package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// TestServeNamesTheProgramAsItWasCalled: the line about the first key can be pasted.
func TestServeNamesTheProgramAsItWasCalled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	ctx, stop := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	m := &Main{
		Name: "./my door", Args: []string{"serve", "--data", dir, "--listen", "127.0.0.1:0"}, Stdout: &out, Stderr: &errs,
		Env: func(string) (string, bool) { return "", false }, Ready: func(string) { stop() },
	}
	if code := m.Run(ctx); code != exitDone {
		t.Fatalf("serve = %d: %s", code, &errs)
	}
	if want := "\n  './my door' keys add --data " + dir + " --name admin"; !strings.Contains(out.String(), want) {
		t.Errorf("serve said %q, want %q", &out, want)
	}
}
