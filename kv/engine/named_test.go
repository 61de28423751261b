package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"doorward/kv/engine"
)

// TestAFileThatIsNotAcceptedIsNamed: whatever refuses a file by what is in it need not know where it lies.
func TestAFileThatIsNotAcceptedIsNamed(t *testing.T) {
	path, schema := filepath.Join(t.TempDir(), "a.db"), &engine.Schema{{Name: "one"}}
	db, err := engine.Open(engine.Config{Path: path, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	refuse := func(*engine.View) error { return &engine.BadFile{Reason: "is another's"} }
	_, opened := engine.Open(engine.Config{Path: path, Schema: schema, Accept: refuse})
	for what, err := range map[string]error{"Open": opened, "Read": engine.Read(path, schema, refuse)} {
		if err == nil || !strings.Contains(err.Error(), path+" is another's") {
			t.Errorf("%s = %v, want the file's name", what, err)
		}
	}
}
