package announce

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/pion/logging"
	"github.com/pion/mdns/v2"
	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/net/ipv4"

	"doorward/cmd/doorward/repeat"
)

// Zone ends the names that can be announced.
const Zone = ".local"

// Config says what is announced, and where.
type Config struct {
	Name     string // "porta.local"
	Address  net.IP // the one address that the name stands for; nil = in each network the machine's own there
	Loopback bool   // programs on this machine alone are told, and no network
	Logger   *slog.Logger
}

// lookAfter is the time between two looks at the machine's networks.
const lookAfter = 5 * time.Second

// Start announces the name until end is called. It follows the machine from one network to another. A network that cannot be told is
// logged once, and tried again when the networks change.
func Start(c Config) (end func()) {
	a := &announcer{Config: c}
	a.look()
	ended := repeat.Every(lookAfter, a.look)
	return func() {
		ended()
		a.stop()
	}
}

// announcer answers questions for one name in the networks that it has seen last.
type announcer struct {
	Config
	conn   *mdns.Conn // nil = no network can be told
	seen   []string   // the networks
	failed bool       // the log has a line about it
}

// look begins again where the machine's networks have changed.
func (a *announcer) look() {
	networks, seen, err := a.networks()
	if err == nil && a.seen != nil && slices.Equal(seen, a.seen) {
		return
	}
	a.stop()
	a.seen = seen
	if err == nil {
		a.conn, err = a.answer(networks)
	}
	switch {
	case err == nil:
		a.failed = false
		a.Logger.Info("phones find this machine by name", "name", a.Name)
	case !a.failed:
		a.failed = true
		a.Logger.Warn("this machine's name cannot be announced; phones use its address", "name", a.Name, "cause", err)
	}
}

func (a *announcer) stop() {
	if a.conn != nil {
		_ = a.conn.Close() // nothing is lost with it
		a.conn = nil
	}
}

var errNoNetwork = errors.New("there is no network")

// networks are the machine's networks that can be told, each with its addresses as text.
func (a *announcer) networks() (all []net.Interface, seen []string, err error) {
	found, err := net.Interfaces()
	if err != nil {
		return nil, nil, err
	}
	for _, n := range found {
		loopback := n.Flags&net.FlagLoopback != 0
		if n.Flags&net.FlagUp == 0 || loopback != a.Loopback || !loopback && n.Flags&net.FlagMulticast == 0 {
			continue
		}
		addresses, _ := n.Addrs() // none where they cannot be read
		all, seen = append(all, n), append(seen, fmt.Sprint(n.Name, addresses))
	}
	if len(all) == 0 {
		return nil, nil, errNoNetwork
	}
	return all, seen, nil
}

// answer begins to answer questions for the name.
func (a *announcer) answer(networks []net.Interface) (*mdns.Conn, error) {
	at, err := net.ResolveUDPAddr("udp4", mdns.DefaultAddressIPv4)
	if err != nil {
		return nil, err
	}
	l, err := net.ListenUDP("udp4", at)
	if err != nil {
		return nil, err
	}
	options := []mdns.ServerOption{
		mdns.WithLocalNames(strings.TrimSuffix(a.Name, ".")), mdns.WithInterfaces(networks...), mdns.WithIncludeLoopback(a.Loopback),
		mdns.WithRecordTypes(dnsmessage.TypeA), mdns.WithCacheRefresh(false),
		mdns.WithLoggerFactory(&logging.DefaultLoggerFactory{Writer: io.Discard, DefaultLogLevel: logging.LogLevelDisabled}),
	}
	if a.Address != nil {
		options = append(options, mdns.WithLocalAddress(a.Address))
	}
	conn, err := mdns.NewServer(ipv4.NewPacketConn(l), nil, options...)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return conn, nil
}
