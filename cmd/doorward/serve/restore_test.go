package serve

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"doorward/cmd/doorward/archive"
	"doorward/cmd/doorward/certificate"
	"doorward/cmd/doorward/folder"
	"doorward/kv"
	"doorward/kv/disk"

	"github.com/prometheus/client_golang/prometheus"
)

// TestARestoreIsAnsweredOnce: while a request to restore is open, another one is refused. The open request is answered after the drain, here
// with the reason why the store before goes on.
func TestARestoreIsAnsweredOnce(t *testing.T) {
	store, err := kv.Open(kv.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	drained, drain := context.WithCancel(t.Context())
	var r restores
	r.begin(drain)
	s := httptest.NewServer(r.before(store, http.NotFoundHandler()))
	defer s.Close()
	path, said := s.URL+archive.RestorePath+"?"+url.Values{"folder": {disk.OwnPrefix + "restore-1"}, "realm": {store.Tables.Identity.Realm()}, "node": {store.Tables.Identity.Node()}}.Encode(), make(chan string, 1)
	go func() { said <- ask(path) }()
	<-drained.Done()
	if got, want := ask(path), "409 another restore is under way"; got != want {
		t.Errorf("a second request is answered %q, want %q", got, want)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if !r.replace(store.Tables.Folder.Dir, slog.New(slog.DiscardHandler)) {
		t.Error("the server ends, though a command has asked for a restore")
	}
	select {
	case early := <-said:
		t.Fatalf("the request is answered %q before the store is served", early)
	default:
	}
	r.answer(nil)
	if got, want := <-said, "409 the store before goes on: "; !strings.HasPrefix(got, want) {
		t.Errorf("the request is answered %q, want %q", got, want)
	}
	if r.replace(store.Tables.Folder.Dir, slog.New(slog.DiscardHandler)) {
		t.Error("a request that was answered is still open")
	}
}

// TestACommandThatTakesTheFolderBetweenTwoStoresIsWaitedFor: it has the lock when the restored store is to take its place, and still has it when the server
// opens the store again. The request is told so, and the server goes on with the store before once the command is done.
func TestACommandThatTakesTheFolderBetweenTwoStoresIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	command, err := kv.Open(kv.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	messages := make(chan string, 100)
	s := &server{Config: Config{Folder: &folder.Folder{Dir: dir}}, log: slog.New(told{slog.Default().Handler(), messages}), greeted: true}
	s.restores.pending = &restore{folder: disk.OwnPrefix + "restore-1"}
	if !s.restores.replace(dir, slog.New(slog.DiscardHandler)) {
		t.Error("the server ends, though a command has asked for a restore")
	}
	if got, want := s.restores.pending.err, folder.Busy(dir); got == nil || got.Error() != want.Error() {
		t.Errorf("the restore fails with %v, want %v", got, want)
	}
	done := make(chan error)
	go func() {
		store, err := s.openStore(t.Context(), prometheus.NewRegistry())
		if err == nil {
			err = store.Close()
		}
		done <- err
	}()
	select {
	case <-messages:
	case err := <-done:
		t.Fatalf("openStore = %v while a command has the store open", err)
	}
	if err := command.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("openStore after the command = %v", err)
	}
}

// ask sends a request, and returns the status and the message of the answer.
func ask(path string) string {
	resp, err := http.Post(path, "", nil)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }() // it was read to its end
	b, _ := io.ReadAll(resp.Body)            // an answer that is cut off is a wrong one
	_, message, _ := strings.Cut(string(b), `"message":"`)
	message, _, _ = strings.Cut(message, `"`)
	return resp.Status[:4] + message
}

// TestAStopWhileACommandHasTheFolderIsNoFailure: the server has nothing open yet, so it ends as it was told.
func TestAStopWhileACommandHasTheFolderIsNoFailure(t *testing.T) {
	dir := t.TempDir()
	command, err := kv.Open(kv.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Close() }() // it wrote nothing
	for name, greeted := range map[string]bool{"at its start": false, "between two stores": true} {
		ctx, stop := context.WithCancel(t.Context())
		s := &server{Config: Config{Folder: &folder.Folder{Dir: dir}, Listen: "127.0.0.1:0", Certificate: &certificate.Files{}}, log: slog.New(slog.DiscardHandler), greeted: greeted}
		stop()
		if err := s.run(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
