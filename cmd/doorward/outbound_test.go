package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommandsDialThroughTheProxy: venue join, pull and replicate. The proxy refuses; the message names it without its password.
func TestCommandsDialThroughTheProxy(t *testing.T) {
	asked := make(chan string, 16)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	t.Cleanup(proxy.Close)
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	at.User = url.UserPassword("eva", "hidden")
	t.Setenv("https_proxy", at.String())
	t.Setenv("http_proxy", at.String())
	t.Setenv("no_proxy", "")
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	login := []string{"--key", "k", "--secret-file", secret}
	for _, args := range [][]string{
		{"venue", "join", "--data", filepath.Join(dir, "laptop"), "https://centre.example/#CODECODECODECODE"},
		append([]string{"pull", "--data", filepath.Join(dir, "mirror"), "--from", "https://centre.example"}, login...),
		append([]string{"replicate", "https://centre.example/sync/notes", filepath.Join(dir, "notes")}, login...),
		append([]string{"replicate", "https://centre.example/sync", filepath.Join(dir, "all")}, login...),
	} {
		code, out, errs := run(t.Context(), nil, args...)
		want := "the proxy " + at.Host + " refused the connection: 407 Proxy Authentication Required"
		if code != exitFailed || !strings.Contains(errs, want) || strings.Contains(out+errs, "hidden") {
			t.Errorf("%s = %d: %s%s", args[:2], code, out, errs)
		}
		select {
		case got := <-asked:
			if got != "CONNECT centre.example:443" {
				t.Errorf("%s: the proxy was asked %q", args[:2], got)
			}
		default:
			t.Errorf("%s: the proxy was not asked", args[:2])
		}
		for len(asked) > 0 {
			<-asked // tried again
		}
	}

	// A server on this machine is dialled itself, and so is one over http.
	if _, _, errs := run(t.Context(), nil, "replicate", proxy.URL+"/sync/notes", filepath.Join(dir, "here")); !strings.Contains(errs, "the peer answered 407") {
		t.Errorf("a server on this machine: %s", errs)
	}
	if got := <-asked; strings.HasPrefix(got, http.MethodConnect) || len(asked) > 0 {
		t.Errorf("this machine was asked for through the proxy: %q", got)
	}
}
