package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"doorward/kv/kvtest/proof"
)

// python finds the environment that make test installs: openapi-spec-validator and openapi-python-client, as pinned in
// testdata/openapi/requirements.txt.
func python(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", "openapi", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		proof.Missing(t, "the generator of clients is missing; make test installs it: %v", err)
	}
	return path
}

// The served OpenAPI document is valid, a generator makes a client of all of it without a warning, and the client works.
func TestAGeneratedClientHasEveryOperation(t *testing.T) {
	t.Parallel()
	proof.Unraced(t)
	proof.Only(t, "the generator takes long")
	interpreter := python(t)
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "data")}
	p.run(new(any), "demo")
	var key struct{ Key, Secret string }
	p.run(&key, "keys", "add", "--name", "Client", "--level", "denomination", "--allow", "*:*")
	server := p.serve()
	defer func() {
		server.kill()
		<-server.exited
	}()
	folder := t.TempDir()
	document := filepath.Join(folder, "openapi.json")
	download(t, server.url+"/openapi.json", document)

	script, err := filepath.Abs(filepath.Join("testdata", "openapi", "use_client.py"))
	if err != nil {
		t.Fatal(err)
	}
	environment := append(os.Environ(),
		"PATH="+filepath.Dir(interpreter)+string(os.PathListSeparator)+os.Getenv("PATH"), "COLUMNS=200",
		"FOLDER="+folder, "URL="+server.url, "KEY="+key.Key, "SECRET="+key.Secret)
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), interpreter, args...)
		cmd.Dir, cmd.Env = folder, environment
		diesWithTest(cmd)
		out, err := cmd.CombinedOutput()
		if said := string(out); err != nil || strings.Contains(strings.ToLower(said), "warning") {
			t.Fatalf("%s: %v\n%s", args, err, said)
		}
	}
	run("-m", "openapi_spec_validator", document)
	run("-m", "openapi_python_client", "generate", "--path", document, "--output-path", filepath.Join(folder, "doorward_client"),
		"--meta", "none", "--fail-on-warning")
	run(script)
}

// download writes what an address answers into a file.
func download(t *testing.T, url, path string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
}
