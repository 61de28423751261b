package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"strings"
	"testing"
	"time"

	"doorward/api"
)

// TestAPhoneLearnsToTrustTheServer: the page and the file are there where the server has an authority, below its mount, and nowhere else.
func TestAPhoneLearnsToTrustTheServer(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "<b>Porta</b>"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	without := newWorld(t)
	without.status(without.do("GET", "/door/trust", "", anybody), 404)
	without.status(without.do("GET", "/door/trust/doorward.crt", "", anybody), 404)
	if page := without.status(without.do("GET", "/door", "", anybody), 200); strings.Contains(page.body, "data-trust") {
		t.Error("without an authority the door's page offers it")
	}
	for prefix, url := range map[string]string{"": "", "/doorward": "http://127.0.0.1/doorward"} {
		w := newWorld(t, func(c *api.Config) { c.PublicURL, c.Local = url, api.Local{Name: "porta.local", Authority: der} })
		if page := w.status(w.do("GET", prefix+"/door", "", anybody), 200); !strings.Contains(page.body, `data-trust="yes"`) {
			t.Error("the door's page does not offer the authority")
		}
		for query, language := range map[string]string{"": "en", "?language=pt-BR": "pt-BR", "?language=%3Cscript%3E": "en"} {
			page := w.status(w.do("GET", prefix+"/door/trust"+query, "", anybody), 200)
			for _, want := range []string{`<html lang="` + language + `">`, "&lt;b&gt;Porta&lt;/b&gt;", `href="` + prefix + `/door/trust/doorward.crt"`, `href="https://`} {
				if !strings.Contains(page.body, want) {
					t.Errorf("%s%s does not have %q:\n%s", prefix, query, want, page.body)
				}
			}
		}
		for accept, language := range map[string]string{"pt": "pt-BR", "pt-PT,en": "pt-BR", "fr, pt;q=0.8, en;q=0.5": "pt-BR", "de": "en", "%%": "en"} {
			for _, path := range []string{"/door", "/door/trust", "/door/trust?language=fr"} {
				page := w.status(w.do("GET", prefix+path, "", anybody, header("Accept-Language", accept)), 200)
				if !strings.Contains(page.body, `<html lang="`+language+`"`) || page.header.Get("Content-Language") != language {
					t.Errorf("%s is not in %s for a browser that prefers %q", path, language, accept)
				}
			}
		}
		file := w.status(w.do("GET", prefix+"/door/trust/doorward.crt", "", anybody), 200)
		if file.body != string(der) || file.header.Get("Content-Type") != "application/x-x509-ca-cert" {
			t.Errorf("the certificate: %d bytes, %v", len(file.body), file.header)
		}
	}
}
