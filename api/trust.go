package api

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"

	"doorward/api/web"
)

// A phone that has installed the certificate of the server's own authority opens the door's page over https, where browsers give the camera.
// The page and the file come over http too: a phone that does not trust the authority yet has no other way to them.

// authorityFile is the name under which a phone gets the certificate. By the media type the phone offers to install it.
const (
	authorityFile  = "doorward.crt"
	authorityMedia = "application/x-x509-ca-cert"
)

// trustPage answers GET /door/trust: how a phone learns to trust the server. Without an authority there is no such page.
func trustPage(x *exchange) error {
	der := x.server.config.Local.Authority
	if len(der) == 0 {
		return errNoRoute
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return fmt.Errorf("the local authority: %w", err)
	}
	t := web.Trust{Base: x.server.Prefix(), Name: cert.Subject.CommonName, Fingerprint: fingerprint(der), Secure: "https://" + x.request.Host + x.server.Prefix() + "/door"}
	t.Language, t.Other = languageOf(x.request)
	var page bytes.Buffer
	if err := t.Write(&page); err != nil {
		return err
	}
	x.Header().Set("Content-Language", t.Language)
	x.Header().Add("Vary", "Accept-Language")
	pageHeaders(x.Header(), "text/html; charset=utf-8")
	return x.sendPage(page.Bytes(), func() []byte { return web.Pack(page.Bytes()) })
}

// trustFile answers GET /door/trust/doorward.crt: the authority's certificate, which is no secret.
func trustFile(x *exchange) error {
	der := x.server.config.Local.Authority
	if len(der) == 0 {
		return errNoRoute
	}
	x.Header().Set("Content-Disposition", `attachment; filename="`+authorityFile+`"`)
	x.Header().Set("Cache-Control", "no-cache")
	pageHeaders(x.Header(), authorityMedia)
	return sendWhole(x, der)
}

// fingerprint is the SHA-256 of a certificate as phones show it: 32 pairs of digits.
func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return fmt.Sprintf("% X", sum[:])
}

// languageOf is the language that a page is shown in, and the other one: the one that is asked for, else the one that the browser prefers.
func languageOf(r *http.Request) (language, other string) {
	asked := r.URL.Query().Get("language")
	if asked == "" {
		first, _, _ := strings.Cut(r.Header.Get("Accept-Language"), ",")
		asked = strings.TrimSpace(first)
	}
	if strings.HasPrefix(strings.ToLower(asked), "pt") {
		return "pt-BR", "en"
	}
	return "en", "pt-BR"
}
