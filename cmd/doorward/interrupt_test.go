package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"
)

// run runs a command and answers its exit code and what it printed.
func run(ctx context.Context, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	m := &Main{Args: args, Stdin: stdin, Stdout: &out, Stderr: &errs, Env: func(string) (string, bool) { return "", false }}
	code = m.Run(ctx)
	return code, out.String(), errs.String()
}

// serveIn runs a server on a folder until the test ends, and returns its address.
func serveIn(t testing.TB, dir string, out *output, flags ...string) (address string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan string, 1), make(chan int, 1)
	m := &Main{
		Args: append([]string{"serve", "--data", dir, "--listen", "127.0.0.1:0"}, flags...), Stdout: out, Stderr: out,
		Env: func(string) (string, bool) { return "", false }, Ready: func(a string) { ready <- a },
	}
	go func() { done <- m.Run(ctx) }()
	select {
	case address = <-ready:
	case code := <-done:
		t.Fatalf("serve = %d: %s", code, out)
	}
	t.Cleanup(func() {
		cancel()
		if code := <-done; code != 0 {
			t.Errorf("serve = %d: %s", code, out)
		}
	})
	return address
}

// whenItGrows calls stop once the file of a store is longer than it is now, and ends with ctx.
func whenItGrows(ctx context.Context, t *testing.T, dir string, stop func()) {
	t.Helper()
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "doorward.db"))
		if err != nil {
			t.Error(err)
			return 0
		}
		return info.Size()
	}
	was := size()
	go func() {
		for ctx.Err() == nil && size() == was {
			time.Sleep(time.Millisecond)
		}
		stop()
	}()
}

// TestAnInterruptedImportIsCompletedByTheNext: Ctrl-C in the middle leaves a valid store, alone and beside a server.
func TestAnInterruptedImportIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	proof.Unraced(t) // api/load has the like, which is raced
	const n = 30_000
	var file strings.Builder
	file.WriteString("codigo;nome;tipo\n")
	for i := range n {
		fmt.Fprintf(&file, "CODE-%08d;Ana Souza;Adulto\n", i)
	}
	for _, beside := range []bool{false, true} {
		dir, ctx := filepath.Join(proof.Disk(t), "d"), context.Background()
		event := `{"kind":"event","id":7,"name":"Festa","start_datetime":"2026-12-31T19:30:00Z"}`
		if code, _, errs := run(ctx, strings.NewReader(event), "import", "--data", dir, "-"); code != 0 {
			t.Fatalf("import of the event = %d: %s", code, errs)
		}
		if beside {
			serveIn(t, dir, &output{})
		}
		tickets := []string{"import", "--data", dir, "--kind", "ticket", "--event", "7", "--json", "-"}
		cut, stop := context.WithCancel(ctx)
		whenItGrows(cut, t, dir, stop)
		code, _, errs := run(cut, strings.NewReader(file.String()), tickets...)
		if code != exitFailed || !strings.Contains(errs, "what was sent so far is kept") {
			t.Errorf("beside a server %v: interrupted import = %d: %s", beside, code, errs)
		}
		stop()
		code, out, errs := run(ctx, strings.NewReader(file.String()), tickets...)
		var rep struct{ Created, Updated, Unchanged, Rejected any }
		if err := json.Unmarshal([]byte(out), &rep); err != nil || code != exitDone {
			t.Fatalf("beside a server %v: second import = %d, %v: %s", beside, code, err, errs)
		}
		created, unchanged := rep.Created.(float64), rep.Unchanged.(float64)
		if unchanged == 0 || created == 0 || created+unchanged != n || rep.Updated != 0.0 {
			t.Errorf("beside a server %v: second import = %s, want the first one's tickets unchanged and the others created", beside, out)
		}
		if code, out, errs := run(ctx, nil, "verify", "--data", dir, "--here"); code != exitDone || !strings.Contains(out, `"damaged":0`) {
			t.Errorf("beside a server %v: verify = %d: %s%s", beside, code, out, errs)
		}
	}
}

// TestAnInterruptedCopySaysThatItWasStopped and blames neither place.
func TestAnInterruptedCopySaysThatItWasStopped(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "source")
	if code, _, errs := run(t.Context(), strings.NewReader(`{"kind":"church","name":"North"}`), "import", "--data", source, "-"); code != exitDone {
		t.Fatalf("import = %d: %s", code, errs)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("interrupt signal received"))
	for _, flags := range [][]string{nil, {"--db", "records"}} {
		code, _, errs := run(ctx, nil, append([]string{"replicate", source, filepath.Join(t.TempDir(), "target")}, flags...)...)
		if code != exitFailed || errs != "doorward: stopped\n" {
			t.Errorf("replicate %v = %d: %s", flags, code, errs)
		}
	}
	ctx, stop = context.WithCancelCause(t.Context())
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stop(errors.New("interrupt signal received"))
		<-r.Context().Done()
	}))
	defer target.Close()
	if code, out, errs := run(ctx, nil, "replicate", source, target.URL+"/records"); code != exitFailed || errs != "doorward: records: stopped\n" {
		t.Errorf("replicate = %d: %s%s", code, out, errs)
	}
}
