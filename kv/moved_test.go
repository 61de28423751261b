package kv_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/engine"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestNothingIsTakenIntoAFileThatIsElsewhere: whoever starts the next server would not find it.
func TestNothingIsTakenIntoAFileThatIsElsewhere(t *testing.T) {
	for name, move := range map[string]func(path string) error{
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".other", []byte("another store"), 0o600), os.Rename(path+".other", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			registry := prometheus.NewPedanticRegistry()
			s, err := kv.Open(kv.Config{Dir: dir, Registerer: registry})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }() // which has nowhere to write the last counts to
			kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
			if err := s.Tables.Engine.Writable(); err != nil {
				t.Fatalf("Writable = %v", err)
			}
			if err := move(table.Path(dir)); err != nil {
				t.Fatal(err)
			}
			want := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), table.Path(dir)+" is not the file that was opened") {
					t.Errorf("%s = %v", what, err)
				}
			}
			writable := s.Tables.Engine.Writable()
			want("Writable", writable)
			if is := kvtest.Metric(t, registry, "doorward_store_writable"); is != 0 {
				t.Errorf("doorward_store_writable = %v, want 0: an alert is to come before a guest does", is)
			}
			before, _ := os.ReadFile(table.Path(dir)) // what there is
			_, err = s.Files.Compact(t.Context(), auth.Operator())
			want("Compact", err)
			if after, _ := os.ReadFile(table.Path(dir)); string(after) != string(before) {
				t.Errorf("Compact made %d bytes of %d", len(after), len(before))
			}
			_, err = s.Desk.Create(auth.Operator(), desk.Target{Kind: record.Person}, kvtest.Parse(t, record.Person, `{"full_name":"Bia"}`, true))
			want("Create", err)
			if !errors.Is(writable, engine.ErrStopped) || !errors.Is(err, engine.ErrStopped) {
				t.Errorf("Writable = %v, Create = %v, want ErrStopped of both", writable, err)
			}
		})
	}
}

// TestALinkToAFileIsNoStore: compacting would replace the link, and leave what was deleted at its end.
func TestALinkToAFileIsNoStore(t *testing.T) {
	dir, elsewhere := folder(t), filepath.Join(t.TempDir(), "large.db")
	s := reopenable(t, kv.Config{Dir: dir})
	closed(t, s)
	if err := errors.Join(os.Rename(table.Path(dir), elsewhere), os.Symlink(elsewhere, table.Path(dir))); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Open(kv.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "is a link to a file: make the whole folder a link") {
		t.Errorf("Open = %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Remove(table.Path(dir)), os.Rename(elsewhere, table.Path(dir)), os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	healthy(t, kvtest.OpenConfig(t, kv.Config{Dir: link}))
}
