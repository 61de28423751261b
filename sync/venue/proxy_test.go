package venue_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/table"
	"doorward/sync/venue"

	"github.com/oklog/ulid/v2"
)

// TestALaptopDialsItsCentreThroughTheProxy: a venue may have no other way out.
func TestALaptopDialsItsCentreThroughTheProxy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	t.Setenv("HTTPS_PROXY", "http://"+l.Addr().String())
	t.Setenv("NO_PROXY", "")
	laptop := kvtest.Open(t)
	u := table.Upstream{URL: "https://centre.example", Node: ulid.Make().String(), Key: "k", Secret: "s"}
	if err := laptop.Laptop.Join(auth.Operator(), u, office.Credential{Realm: laptop.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
	v, err := venue.New(venue.Config{Store: laptop})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.Run(ctx)
	}()
	defer func() {
		stop()
		<-done
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // nothing is answered
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil || r.Method != http.MethodConnect || r.Host != "centre.example:443" {
		t.Errorf("the proxy was asked %+v, %v", r, err)
	}
}
