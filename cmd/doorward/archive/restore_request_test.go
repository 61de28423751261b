package archive

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/folder"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/backup"
	"doorward/kv/disk"
	"doorward/kv/table"
)

// asked is a server of a folder that is asked to put a restored store in the place of its own.
type asked struct {
	*testing.T
	data     string
	replaces bool        // it does
	then     string      // answers; refuses; gone: it ends without an answer; waits: it never answers
	heard    func()      // is called when the request has come
	kept     chan string // where the store before is kept, once it was replaced
}

// serve answers like a server until the test ends.
func (s *asked) serve() {
	socket, err := control.Listen(s.data)
	if err != nil {
		s.Fatal(err)
	}
	server := &http.Server{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+RestorePath, func(w http.ResponseWriter, r *http.Request) {
		kept := ""
		if s.replaces {
			var err error
			file := table.Path(filepath.Join(s.data, r.URL.Query().Get("folder")))
			if kept, err = backup.ReplaceStore(s.data, file, time.Now(), quiet.Logger(0)); err != nil {
				s.Error(err)
			}
			s.kept <- kept
		}
		s.heard()
		switch s.then {
		case "answers":
			_ = json.NewEncoder(w).Encode(Replaced{Kept: kept}) // the command may be gone
		case "refuses":
			control.Refuse(w, http.StatusConflict, errRefused)
		case "gone":
			_ = server.Close()
		case "waits":
			<-r.Context().Done()
		}
	})
	server.Handler = mux
	go func() { _ = server.Serve(socket) }() // it ends with Close
	s.Cleanup(func() { _ = server.Close() })
}

var errRefused = errors.New("another restore is under way")

// quiet is a console that prints nothing.
var quiet = &console.Console{Out: io.Discard, Err: io.Discard}

// opening is a folder as a command is told of it.
func opening(dir string) control.Opening {
	return control.Opening{Folder: &folder.Folder{Dir: dir, Zone: time.UTC, Disk: disk.DefaultRoomLimits}, Console: quiet}
}

// TestARestoreSaysWhetherTheStoreWasReplaced: in whatever way the request to the server ends.
func TestARestoreSaysWhetherTheStoreWasReplaced(t *testing.T) {
	for _, c := range []struct {
		name     string
		replaces bool
		then     string
		want     string // the error; "" = none
	}{
		{"the server answers", true, "answers", ""},
		{"the server refuses", false, "refuses", errRefused.Error()},
		{"the server replaces the store and refuses: it could not open the new one", true, "refuses", errRefused.Error()},
		{"the server ends before it has done it", false, "gone", errEnded.Error()},
		{"the server does it and ends before it answers", true, "gone", ""},
		{"a signal ends the waiting", false, "waits", console.ErrStopped.Error()},
		{"a signal ends the waiting after it was done", true, "waits", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := opening(t.TempDir())
			dir, next := restoredIn(t, o)
			before, err := os.Stat(table.Path(o.Dir))
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			s := &asked{T: t, data: o.Dir, replaces: c.replaces, then: c.then, heard: func() {}, kept: make(chan string, 1)}
			if c.then == "waits" {
				s.heard = stop
			}
			s.serve()
			kept, err := place(ctx, o, dir, placing{next, true})
			if said := errorText(err); said != c.want {
				t.Fatalf("restore = %q, want %q", said, c.want)
			}
			after, failed := os.Stat(table.Path(o.Dir))
			if failed != nil || os.SameFile(before, after) == c.replaces {
				t.Errorf("restore = %v; the store's file is still the one before: %t, %v", err, os.SameFile(before, after), failed)
			}
			if err == nil {
				if is := <-s.kept; kept != is {
					t.Errorf("the store before is said to be kept as %q; the server kept %q", kept, is)
				}
			}
			if err != nil && folder.Exists(table.Path(dir)) {
				t.Error("a server can still take the restored store")
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// restoredIn makes a store in a folder, and a store restored from its backup, in a work folder.
func restoredIn(t *testing.T, o control.Opening) (dir string, next Restored) {
	t.Helper()
	store, err := kv.Open(kv.Config{Dir: o.Dir})
	if err != nil {
		t.Fatal(err)
	}
	if dir, _, err = disk.MakeWorkFolder(o.Dir, RestorePurpose); err == nil {
		_, err = store.Files.CopyTo(auth.Operator(), table.Path(dir))
	}
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	if next, err = beginEpoch(o, dir); err != nil {
		t.Fatal(err)
	}
	return dir, next
}
