package reach

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

func TestOriginsAllow(t *testing.T) {
	base, err := url.Parse("http://Porta.example:80/doorward")
	if err != nil {
		t.Fatal(err)
	}
	o := NewOrigins(base, []string{"HTTPS://Page.example:443", "http://page.example:8080", "capacitor://localhost", "https://*.church.example"})
	const post = http.MethodPost
	for _, c := range []struct {
		name, method, host, site, origin string
		own, allow                       bool
	}{
		{"no browser", post, "laptop:8080", "", "", true, true},
		{"a page of ours", post, "laptop:8080", "same-origin", "http://laptop:8080", true, true},
		{"an address that was typed", post, "laptop:8080", "none", "", true, true},
		{"a page of ours, over plain http", post, "laptop:8080", "", "http://laptop:8080", true, true},
		{"a page of the public URL, whose proxy sends another Host", post, "127.0.0.1:8080", "", "http://porta.example", true, true},
		{"a page of another site", post, "laptop:8080", "cross-site", "https://evil.example", false, false},
		{"one that hides its origin", post, "laptop:8080", "cross-site", "", false, false},
		{"one without an origin", post, "laptop:8080", "cross-site", "null", false, false},
		{"a sister of ours", post, "laptop:8080", "same-site", "http://other.laptop:8080", false, false},
		{"a site that no browser sends", post, "laptop:8080", "x", "", false, false},
		{"another site, over plain http", post, "laptop:8080", "", "http://evil.example", false, false},
		{"no origin, over plain http", post, "laptop:8080", "", "null", false, false},
		{"another port, over plain http", post, "laptop:8080", "", "http://laptop:8081", false, false},
		{"no port, over plain http", post, "laptop:8080", "", "http://laptop", false, false},
		{"a name that begins as ours", post, "laptop", "", "http://laptop.evil.example", false, false},
		{"a listed origin", post, "laptop:8080", "cross-site", "https://page.example", false, true},
		{"a listed origin, over plain http", post, "laptop:8080", "", "http://page.example:8080", false, true},
		{"another port of a listed origin", post, "laptop:8080", "cross-site", "https://page.example:8443", false, false},
		{"another scheme of a listed origin", post, "laptop:8080", "cross-site", "http://page.example", false, false},
		{"an application", post, "laptop:8080", "cross-site", "capacitor://localhost", false, true},
		{"a name below a listed one", post, "laptop:8080", "cross-site", "https://north.church.example", false, true},
		{"the listed one itself", post, "laptop:8080", "cross-site", "https://church.example", false, false},
		{"a name that ends as a listed one", post, "laptop:8080", "cross-site", "https://evilchurch.example", false, false},
		{"what changes nothing", http.MethodGet, "laptop:8080", "cross-site", "https://evil.example", true, true},
		{"a question about what is allowed", http.MethodOptions, "laptop:8080", "cross-site", "https://evil.example", true, true},
		{"a method of another protocol", "PROPFIND", "laptop:8080", "cross-site", "https://evil.example", false, false},
	} {
		r := httptest.NewRequest(c.method, "/v1/people/", nil)
		r.Host = c.host
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if own, allow := o.Own(r), o.Allow(r); own != c.own || allow != c.allow {
			t.Errorf("%s: Own = %t, Allow = %t, want %t, %t", c.name, own, allow, c.own, c.allow)
		}
	}
}
