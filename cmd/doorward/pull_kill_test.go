package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"doorward/api"
	"doorward/api/load/demo"
	"doorward/api/pull"
	"doorward/kv/auth"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
)

// TestAPullThatIsKilledGoesOn kills the command while it waits for its source, at several requests, and runs it to its end: every
// record comes once, and nothing is updated or refused.
func TestAPullThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	store := kvtest.Open(t)
	if _, err := demo.Make(context.Background(), store, auth.Operator(), demo.Options{Size: "s", Seed: 1}); err != nil {
		t.Fatal(err)
	}
	key, secret, err := store.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: "mirror", Level: auth.Level{Name: auth.Denomination}})
	if err != nil {
		t.Fatal(err)
	}
	server, err := api.New(api.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	g := &gated{Handler: server.Handler(), left: make(chan int, 1), held: make(chan struct{})}
	g.left <- 0
	source := httptest.NewServer(g)
	defer source.Close()
	p := &program{t, compiled(t), filepath.Join(t.TempDir(), "mirror")}
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"pull", "--from", source.URL, "--key", key.Key, "--secret-file", file}
	requests := []int{1, 3, 5, 9, 17}
	first := int(proof.Seed(t)%4) * (len(requests) - proof.Count(2, len(requests))) / 3
	for _, n := range requests[first:][:proof.Count(2, len(requests))] {
		g.hold(n)
		cmd := exec.Command(p.path, append(args, "--data", p.dir)...)
		diesWithTest(cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-g.held
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	g.hold(0)
	var rep, again pull.Report
	p.run(&rep, args...)
	p.run(&again, args...)
	seen, created := 0, 0
	for i, k := range rep.Kinds {
		seen, created = seen+k.Seen, created+k.Created
		if k.Updated+k.Refused+k.Kept+k.Gone > 0 || again.Kinds[i].Unchanged != k.Seen {
			t.Errorf("after the kills: %+v, and once more: %+v", *k, *again.Kinds[i])
		}
	}
	if !rep.Complete || created == 0 || created == seen {
		t.Errorf("the last pull made %d of %d records, want some and not all: %+v", created, seen, rep)
	}
}

// gated is a server that says when a request has come, and leaves it without an answer.
type gated struct {
	http.Handler
	left chan int
	held chan struct{}
}

// hold lets n-1 further requests through; 0 = all.
func (g *gated) hold(n int) {
	<-g.left
	g.left <- n
}

func (g *gated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := <-g.left
	g.left <- max(0, n-1)
	if n == 1 {
		g.held <- struct{}{}
		<-r.Context().Done()
		return
	}
	g.Handler.ServeHTTP(w, r)
}
