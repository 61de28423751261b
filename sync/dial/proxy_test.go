package dial_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"doorward/sync/dial"
)

// setProxies sets the variables of the environment that name proxies, all others to none.
func setProxies(t *testing.T, env map[string]string) {
	t.Helper()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, env[name])
	}
}

func TestProxyOfTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		name    string
		env     map[string]string
		address string
		want    string
	}{
		{"none", nil, "https://centre.example/sync/", ""},
		{"in capitals", map[string]string{"HTTPS_PROXY": "http://px:3128"}, "https://centre.example/", "http://px:3128"},
		{"in small letters", map[string]string{"https_proxy": "http://px:3128"}, "https://centre.example/", "http://px:3128"},
		{"small letters go before capitals", map[string]string{"https_proxy": "http://a:1", "HTTPS_PROXY": "http://b:2"}, "https://centre.example/", "http://a:1"},
		{"without a scheme", map[string]string{"HTTPS_PROXY": "px:3128"}, "https://centre.example/", "http://px:3128"},
		{"HTTP_PROXY is not for https", map[string]string{"HTTP_PROXY": "http://px:3128", "ALL_PROXY": "http://px:3128"}, "https://centre.example/", ""},
		{"HTTP_PROXY never counts", map[string]string{"HTTP_PROXY": "http://px:3128", "http_proxy": "http://px:3128"}, "http://centre.example/", ""},
		{"HTTPS_PROXY is not for http", map[string]string{"HTTPS_PROXY": "http://px:3128"}, "http://centre.example/", ""},
		{"NO_PROXY names the host", map[string]string{"HTTPS_PROXY": "http://px:3128", "NO_PROXY": "other.example, centre.example"}, "https://centre.example:8443/", ""},
		{"no_proxy names the domain", map[string]string{"HTTPS_PROXY": "http://px:3128", "no_proxy": ".example"}, "https://centre.example/", ""},
		{"NO_PROXY names a network", map[string]string{"HTTPS_PROXY": "http://px:3128", "NO_PROXY": "10.0.0.0/8"}, "https://10.1.2.3/", ""},
		{"NO_PROXY names all", map[string]string{"HTTPS_PROXY": "http://px:3128", "NO_PROXY": "*"}, "https://centre.example/", ""},
		{"NO_PROXY names another host", map[string]string{"HTTPS_PROXY": "http://px:3128", "NO_PROXY": "other.example"}, "https://centre.example/", "http://px:3128"},
		{"this machine by name", map[string]string{"HTTPS_PROXY": "http://px:3128"}, "https://LocalHost:8443/", ""},
		{"this machine by address", map[string]string{"HTTPS_PROXY": "http://px:3128"}, "https://127.0.0.2:8443/", ""},
		{"this machine by its IPv6 address", map[string]string{"HTTPS_PROXY": "http://px:3128"}, "https://[::1]:8443/", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			setProxies(t, c.env)
			if got := dial.ProxyFor(c.address); got != c.want {
				t.Errorf("the proxy for %s is %q, want %q", c.address, got, c.want)
			}
		})
	}
}

// answersConnect is a proxy that answers each request to connect with a status line. It returns its address, and what it was asked.
func answersConnect(t *testing.T, status string) (address string, asked <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	lines := make(chan string, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r, err := http.ReadRequest(bufio.NewReader(c))
			if err == nil {
				lines <- r.Method + " " + r.Host + " " + r.Header.Get("Proxy-Authorization")
				_, _ = fmt.Fprintf(c, "HTTP/1.1 %s\r\n\r\n", status) // the client may be gone
			}
			_ = c.Close()
		}
	}()
	return l.Addr().String(), lines
}

// TestAProxyThatRefusesIsNamed, and its password is not.
func TestAProxyThatRefusesIsNamed(t *testing.T) {
	for _, c := range []struct {
		status, want string
		again        bool
	}{
		{"407 No", "the proxy %s refused the connection: 407 Proxy Authentication Required", false},
		{"403 No", "the proxy %s refused the connection: 403 Forbidden", false},
		{"502 No", "the proxy %s refused the connection: 502 Bad Gateway", true},
	} {
		t.Run(c.status, func(t *testing.T) {
			proxy, asked := answersConnect(t, c.status)
			setProxies(t, map[string]string{"HTTPS_PROXY": "http://eva:secret@" + proxy})
			for _, client := range []*http.Client{dial.NewProxiedClient(dial.Anywhere), dial.NewEagerClient(dial.Anywhere)} {
				l, err := dial.New(dial.Config{URL: "https://centre.example/sync/notes", Client: client, Key: "k", Secret: "s"})
				if err != nil {
					t.Fatal(err)
				}
				_, err = l.Do(t.Context(), http.MethodGet, l.At(), nil)
				if err == nil || err.Error() != fmt.Sprintf(c.want, proxy) || dial.Transient(err) != c.again {
					t.Errorf("the error is %v, which passes: %t", err, dial.Transient(err))
				}
				if got, want := <-asked, "CONNECT centre.example:443 Basic ZXZhOnNlY3JldA=="; got != want {
					t.Errorf("the proxy was asked %q, want %q", got, want)
				}
			}
		})
	}
}

func TestAProxyThatIsNotReachedIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	_ = l.Close() // nothing answers there any more
	setProxies(t, map[string]string{"HTTPS_PROXY": "http://eva:secret@" + gone})
	to, err := dial.New(dial.Config{URL: "https://centre.example/sync/notes", Client: dial.NewProxiedClient(dial.Anywhere)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = to.Do(t.Context(), http.MethodGet, to.At(), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "the proxy "+gone+" cannot be reached: ") || strings.Contains(err.Error(), "secret") || !errors.Is(err, dial.ErrCut) {
		t.Errorf("the error is %v", err)
	}
}

// carry copies one way of a connection, and closes both ends.
func carry(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }() // nothing more is to come
	_, _ = io.Copy(to, from)                           // until either is closed
}

// TestAProxyConnects: what goes through it is the server's.
func TestAProxyConnects(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"host":%q}`, r.Host) // the client may be gone
	}))
	t.Cleanup(server.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "example.com:443" {
			t.Errorf("the proxy was asked for %s %s", r.Method, r.Host)
		}
		var d net.Dialer
		far, err := d.DialContext(context.WithoutCancel(r.Context()), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		near, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(near, "HTTP/1.1 200 Connected\r\n\r\n") // the client may be gone
		go carry(near, far)
		go carry(far, near)
	}))
	t.Cleanup(proxy.Close)
	setProxies(t, map[string]string{"HTTPS_PROXY": proxy.URL})
	client := dial.NewProxiedClient(dial.Anywhere)
	dial.Trust(client, server.Certificate())
	l, err := dial.New(dial.Config{URL: "https://example.com/sync", Client: client})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var answer struct{ Host string }
	if err := l.Ask(t.Context(), http.MethodGet, l.At(), nil, &answer); err != nil || answer.Host != "example.com" {
		t.Errorf("through the proxy: %+v, %v", answer, err)
	}
}

// TestARefusalWithoutTheCentresName is one of a captive portal, or of a proxy.
func TestARefusalWithoutTheCentresName(t *testing.T) {
	const centre, other = "01J00000000000000000000000", "01J00000000000000000000001"
	for _, c := range []struct {
		status   int
		node     string
		noCentre bool
	}{
		{200, "", true}, {200, other, true}, {200, centre, false},
		{401, "", true}, {401, other, false}, {401, centre, false},
		{403, "", true}, {403, other, false}, {403, centre, false},
		{404, "", true}, {404, other, true}, {404, centre, false},
		{413, "", false}, {429, "", false}, {502, "", false}, // of a proxy before the centre
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.node != "" {
				w.Header().Set(dial.HeaderNode, c.node)
			}
			w.WriteHeader(c.status)
		}))
		l, err := dial.New(dial.Config{URL: server.URL + "/sync", Node: centre})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = l.Do(t.Context(), http.MethodGet, l.At(), nil); errors.Is(err, dial.ErrNoCentre) != c.noCentre {
			t.Errorf("%d of %q is %v", c.status, c.node, err)
		}
		l.Close()
		server.Close()
	}
}
