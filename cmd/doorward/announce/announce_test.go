package announce

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/pion/mdns/v2"
	"golang.org/x/net/ipv4"
)

// TestAPhoneFindsTheMachineByName asks as a phone does, on this machine alone, and finds nothing when the announcement has ended.
func TestAPhoneFindsTheMachineByName(t *testing.T) {
	name := fmt.Sprintf("porta-do-teste-%d.local", os.Getpid()) // another run of this test may announce at the same time
	end := Start(Config{Name: name, Loopback: true, Logger: slog.New(slog.DiscardHandler)})
	if got := find(t, name, 20*time.Second); got != "127.0.0.1" {
		t.Errorf("%s = %q, want 127.0.0.1", name, got)
	}
	if got := find(t, "another.local", time.Second); got != "" {
		t.Errorf("another.local = %q, want nothing", got)
	}
	end()
	if got := find(t, name, time.Second); got != "" {
		t.Errorf("after the end %s = %q, want nothing", name, got)
	}
}

// find asks the machine's own network for a name; "" = there was no answer in time.
func find(t *testing.T, name string, within time.Duration) string {
	t.Helper()
	at, err := net.ResolveUDPAddr("udp4", mdns.DefaultAddressIPv4)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUDP("udp4", at)
	if err != nil {
		t.Fatal(err)
	}
	a := &announcer{Config: Config{Loopback: true}}
	networks, _, err := a.networks()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := mdns.NewServer(ipv4.NewPacketConn(l), nil, mdns.WithInterfaces(networks...), mdns.WithIncludeLoopback(true), mdns.WithQueryInterval(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // nothing is lost with it
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if _, addr, err := conn.QueryAddr(ctx, name); err == nil {
		return addr.String()
	}
	return ""
}
