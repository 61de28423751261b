package invite

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/cmd/doorward/authority"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"

	qrcode "github.com/skip2/go-qrcode"
)

// Site is where a server is reached, as its control handler tells it.
type Site struct {
	PublicURL string `json:"public_url"`
	Scheme    string `json:"scheme"`
	Address   string `json:"address"`
	Host      string `json:"host"`      // the name that phones in the same network find it by; "" = none
	Authority bool   `json:"authority"` // https is answered too, to phones that trust the local authority
}

// URLs are the addresses at which phones may open a page, the likeliest first. path begins with a slash.
func (s *Site) URLs(path string) []string { return s.urls(s.Scheme, path) }

// Secure are those of the same addresses that the local authority signs for, over https; none where there is no authority.
func (s *Site) Secure(path string) []string {
	if !s.Authority || s.PublicURL != "" {
		return nil
	}
	return slices.DeleteFunc(s.urls("https", path), func(address string) bool {
		u, err := url.Parse(address)
		if err != nil {
			return true
		}
		at, err := netip.ParseAddr(u.Hostname())
		return err == nil && !authority.Covers(at)
	})
}

func (s *Site) urls(scheme, path string) (all []string) {
	if s.PublicURL != "" {
		return []string{strings.TrimRight(s.PublicURL, "/") + path}
	}
	here, phones := Addresses(s.Address)
	if _, port, err := net.SplitHostPort(s.Address); err == nil && s.Host != "" && len(phones) > 0 {
		phones = append(phones, net.JoinHostPort(s.Host, port))
	}
	for _, at := range append(phones, here) {
		all = append(all, scheme+"://"+at+path)
	}
	return all
}

// Local reports whether only this machine reaches the server.
func (s *Site) Local() bool {
	at, err := netip.ParseAddrPort(s.Address)
	return s.PublicURL == "" && err == nil && at.Addr().IsLoopback()
}

// Addresses are the addresses that a browser on this machine uses, and those that phones use where the server answers at all
// addresses of the machine.
func Addresses(address string) (here string, phones []string) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().IsUnspecified() {
		return address, nil
	}
	port := strconv.Itoa(int(at.Port()))
	all, _ := net.InterfaceAddrs() // none where they cannot be read
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		if addr := prefix.Addr(); err == nil && addr.Is4() && !addr.IsLoopback() && !addr.IsLinkLocalUnicast() {
			phones = append(phones, net.JoinHostPort(addr.String(), port))
		}
	}
	slices.Sort(phones)
	return net.JoinHostPort("localhost", port), phones
}

// Draw shows an address as a QR code. One that is too long for a QR code is not shown.
func Draw(w io.Writer, address string) {
	if q, err := qrcode.New(address, qrcode.Medium); err == nil {
		fmt.Fprintf(w, "\n%s\n", q.ToSmallString(false))
	}
}

// Door is an address that opens the door's page on one phone, with a ticket that is good once. Its JSON is what door --json prints.
type Door struct {
	Event   int64     `json:"event"`
	URLs    []string  `json:"urls"`
	Secure  []string  `json:"https_urls,omitempty"` // of phones that trust the local authority
	Expires time.Time `json:"expires_at"`
	name    string    // of the event
	port    string    // of a server that only this machine reaches; "" = phones reach it
	zone    *time.Location
}

// Wanted says which ticket of a door is asked for.
type Wanted struct {
	Event      string // the number of the event; "" = the only one that is near
	Supervisor bool   // the helper may take back any check-in
}

// AskDoor asks a server for a ticket of an event's door, and makes the addresses that open the door's page with it.
func AskDoor(ctx context.Context, l *control.Line, w Wanted) (Door, error) {
	asked := url.Values{"event": {w.Event}}
	if w.Supervisor {
		asked.Set("role", "supervisor")
	}
	t, err := control.Ask[struct {
		Ticket  string    `json:"ticket"`
		Event   int64     `json:"event"`
		Name    string    `json:"name"`
		Expires time.Time `json:"expires_at"`
		Zone    string    `json:"zone"`
		Site
	}](ctx, l, control.Post("/control/door", asked))
	if err != nil {
		return Door{}, err
	}
	page, port := "/door#"+t.Ticket, ""
	if t.Local() {
		_, port, _ = net.SplitHostPort(t.Address) // Local has read it
	}
	zone, err := time.LoadLocation(t.Zone)
	if err != nil {
		zone = time.Local // the server knows another list of zones than this machine
	}
	return Door{t.Event, t.URLs(page), t.Secure(page), t.Expires, t.Name, port, zone}, nil
}

// Print shows the code of the first address, and all of them to type. Its time is in the server's zone.
func (d *Door) Print(w io.Writer) {
	fmt.Fprintf(w, "%s. On the helper's phone, once, until %s:\n", console.Printable(d.name), d.Expires.In(d.zone).Format("15:04"))
	Draw(w, d.URLs[0])
	for _, address := range d.URLs {
		fmt.Fprintln(w, address)
	}
	if d.port != "" {
		fmt.Fprintf(w, "\nOnly this machine reaches the server. Start it with --listen 0.0.0.0:%s, so that phones do.\n", d.port)
	}
}
