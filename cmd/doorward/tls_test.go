package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// venueLaptop is a server with an authority of its own, and the clients of it that trust the authority.
type venueLaptop struct {
	testing.TB
	dir, address string
	out          *output
	roots        *x509.CertPool
}

// newVenueLaptop makes an event with a ticket and an authority, and serves them until the test ends.
func newVenueLaptop(t *testing.T) *venueLaptop {
	t.Helper()
	l := &venueLaptop{TB: t, dir: filepath.Join(t.TempDir(), "data"), out: &output{}}
	l.command(`{"kind":"event","id":1,"name":"Festa","start_datetime":"`+time.Now().Format(time.RFC3339)+`"}`+"\n"+
		`{"kind":"ticket","event_id":1,"code":"K7QP2M"}`, "import", "-")
	l.command("", "tls", "init", "--name", "porta")
	l.address = serveIn(t, l.dir, l.out)
	der := l.get(http.DefaultClient, "http://"+l.address+"/door/trust/doorward.crt")
	authority, err := x509.ParseCertificate([]byte(der))
	if err != nil {
		t.Fatal(err)
	}
	l.roots = x509.NewCertPool()
	l.roots.AddCert(authority)
	return l
}

// command runs a command over the folder and returns what it prints.
func (l *venueLaptop) command(in string, args ...string) string {
	l.Helper()
	code, out, errs := run(context.Background(), strings.NewReader(in), append(args, "--data", l.dir)...)
	if code != exitDone {
		l.Fatalf("%s = %d: %s", args, code, errs)
	}
	return out
}

// phone is a client that trusts the authority, and reaches the laptop by whatever name.
func (l *venueLaptop) phone() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		l.Fatal(err)
	}
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, l.address)
	}
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: l.roots}, DialContext: dial, ForceAttemptHTTP2: true}
	l.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Jar: jar}
}

func (l *venueLaptop) get(client *http.Client, url string) string {
	l.Helper()
	resp, err := client.Get(url)
	if err != nil {
		l.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		l.Fatalf("GET %s = %d, %v", url, resp.StatusCode, err)
	}
	return string(b)
}

// port is that of the laptop.
func (l *venueLaptop) port() string {
	_, port, err := net.SplitHostPort(l.address)
	if err != nil {
		l.Fatal(err)
	}
	return port
}

func TestALaptopAnswersHTTPAndHTTPSAtOneAddress(t *testing.T) {
	t.Parallel()
	l := newVenueLaptop(t)
	silent, err := net.Dial("tcp", l.address) // a client that says nothing delays no other
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }() // nothing was sent
	phone := l.phone()
	phone.Timeout = 4 * time.Second // the server waits five for the first byte of another
	for _, host := range []string{"127.0.0.1", "localhost", "porta.local"} {
		for _, scheme := range []string{"http", "https"} {
			if got := l.get(phone, scheme+"://"+host+":"+l.port()+"/readyz"); !strings.Contains(got, `"ready"`) {
				t.Errorf("%s at %s: %s", scheme, host, got)
			}
		}
	}
	resp, err := phone.Get("https://porta.local:" + l.port() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close() // a word
	if resp.Proto != "HTTP/2.0" {
		t.Errorf("answered by %s, want HTTP/2.0", resp.Proto)
	}
	stranger := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: x509.NewCertPool()}}}
	if resp, err := stranger.Get("https://" + l.address + "/healthz"); err == nil {
		_ = resp.Body.Close()
		t.Error("a phone that does not know the authority trusts it")
	}
	ends := resp.TLS.PeerCertificates[0].NotAfter
	if page := l.get(phone, "http://"+l.address+"/metrics"); !strings.Contains(page, fmt.Sprintf("doorward_certificate_expiry_timestamp_seconds %g", float64(ends.Unix()))) {
		t.Errorf("the metric of its end is not %d", ends.Unix())
	}
	if strings.Contains(l.out.String(), "PRIVATE KEY") {
		t.Error("the log holds a key")
	}
}

// TestAPhoneIsShownHowToTrustTheLaptop: the page in both languages, the file, and the terminal agree.
func TestAPhoneIsShownHowToTrustTheLaptop(t *testing.T) {
	t.Parallel()
	l := newVenueLaptop(t)
	var shown trusted
	if err := json.Unmarshal([]byte(l.command("", "tls", "show", "--json")), &shown); err != nil {
		t.Fatal(err)
	}
	page := "http://" + l.address + "/door/trust"
	if shown.Name != "porta.local" || len(shown.URLs) != 1 || shown.URLs[0] != page {
		t.Fatalf("tls show = %+v", shown)
	}
	text := l.command("", "tls", "show")
	if !strings.Contains(text, shown.Fingerprint) || !strings.Contains(text, page) || readTerminal(t, text) != page {
		t.Errorf("tls show prints\n%s", text)
	}
	for language, words := range map[string][]string{
		"en-US,en;q=0.9": {`lang="en"`, "iPhone and iPad", "Android", "Download the certificate"},
		"pt-BR,pt;q=0.9": {`lang="pt-BR"`, "iPhone e iPad", "Android", "Baixar o certificado"},
	} {
		r, err := http.NewRequest(http.MethodGet, page, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Language", language)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err = cmpErr(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		for _, want := range append(words, "Doorward porta.local", shown.Fingerprint, "/door/trust/doorward.crt", "https://"+l.address+"/door") {
			if !bytes.Contains(body, []byte(want)) {
				t.Errorf("%s: the page does not say %q:\n%s", language, want, body)
			}
		}
		if policy := resp.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") || bytes.Count(body, []byte("<script")) != bytes.Count(body, []byte(`<script type="module" src="/door/assets/`)) {
			t.Errorf("the page's policy is %q", policy)
		}
	}
	if media := mediaOf(t, page+"/doorward.crt"); media != "application/x-x509-ca-cert" {
		t.Errorf("the certificate is sent as %s, which no phone installs", media)
	}
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func mediaOf(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close() // its header says it
	return resp.Header.Get("Content-Type")
}

// TestASessionOfHTTPIsNoneOfHTTPS: what a machine on the way can read or write over http opens nothing over https.
func TestASessionOfHTTPIsNoneOfHTTPS(t *testing.T) {
	t.Parallel()
	l := newVenueLaptop(t)
	var door key
	if err := json.Unmarshal([]byte(l.command("", "keys", "add", "--name", "Door", "--level", "event:1", "--allow", "checkin:*", "--json")), &door); err != nil {
		t.Fatal(err)
	}
	login := fmt.Sprintf(`{"key":%q,"secret":%q}`, door.Key, door.Secret)
	session := func(scheme string) string { return scheme + "://porta.local:" + l.port() + "/door/v1/session/" }
	ask := func(client *http.Client, method, url, body string, headers ...string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close() // its status says it
		return resp
	}
	plain := ask(l.phone(), http.MethodPost, session("http"), login)
	secure := ask(l.phone(), http.MethodPost, session("https"), login)
	if len(plain.Cookies()) != 1 || len(secure.Cookies()) != 1 {
		t.Fatalf("logins: %d, %d", plain.StatusCode, secure.StatusCode)
	}
	of, at := plain.Cookies()[0], secure.Cookies()[0]
	if of.Secure || !at.Secure || !at.HttpOnly || at.SameSite != http.SameSiteStrictMode || !strings.HasPrefix(at.Name, "__Secure-") {
		t.Errorf("the cookies are %v and %v", of, at)
	}
	for what, try := range map[string]struct {
		scheme, cookie string
		status         int
	}{
		"http":                   {"http", of.Name + "=" + of.Value, 200},
		"https":                  {"https", at.Name + "=" + at.Value, 200},
		"a fixed session":        {"https", of.Name + "=" + of.Value, 401}, // written over http, with a key of the one on the way
		"a session that escaped": {"http", at.Name + "=" + at.Value, 401},
	} {
		if resp := ask(l.phone(), http.MethodGet, session(try.scheme), "", "Cookie", try.cookie, "X-Requested-With", "doorward"); resp.StatusCode != try.status {
			t.Errorf("%s: %d, want %d", what, resp.StatusCode, try.status)
		}
	}
	scan := "https://porta.local:" + l.port() + "/door/v1/event/1/scan/"
	for origin, status := range map[string]int{"https://porta.local:" + l.port(): 200, "http://porta.local:" + l.port(): 403, "https://evil.example": 403, "null": 403} {
		if resp := ask(l.phone(), http.MethodPost, scan, `{"code":"K7QP2M"}`, "Cookie", at.Name+"="+at.Value, "Origin", origin); resp.StatusCode != status {
			t.Errorf("a scan of a page at %s: %d, want %d", origin, resp.StatusCode, status)
		}
	}
}

func TestAnAuthorityIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	ctx := context.Background()
	if code, _, errs := run(ctx, strings.NewReader(""), "tls", "show", "--data", dir); code != exitFailed || !strings.Contains(errs, "tls init makes one") {
		t.Errorf("show = %d: %s", code, errs)
	}
	if code, _, errs := run(ctx, strings.NewReader(""), "tls", "init", "--name", "porta.example", "--data", dir); code != exitFailed || !strings.Contains(errs, "public name") {
		t.Errorf("a public name = %d: %s", code, errs)
	}
	first := func(args ...string) (code int, print string) {
		code, out, errs := run(ctx, strings.NewReader(""), append([]string{"tls", "init", "--json", "--name", "porta", "--data", dir}, args...)...)
		var made trusted
		_ = json.Unmarshal([]byte(out), &made) // an error has none
		return code, made.Fingerprint + errs
	}
	code, one := first()
	if code != exitDone {
		t.Fatal(one)
	}
	if code, said := first(); code != exitFailed || !strings.Contains(said, "--replace") {
		t.Errorf("a second one = %d: %s", code, said)
	}
	if code, two := first("--replace"); code != exitDone || two == one {
		t.Errorf("another one = %d: %s", code, two)
	}
	if err := os.Chmod(filepath.Join(dir, "authority.pem"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := run(ctx, strings.NewReader(""), "serve", "--listen", "127.0.0.1:0", "--data", dir); code != exitFailed || !strings.Contains(errs, "other users may read the key") {
		t.Errorf("serve with a key that others read = %d: %s", code, errs)
	}
}
