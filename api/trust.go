package api

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"io"

	"golang.org/x/text/language"

	"doorward/api/web"
)

// A phone that has installed the certificate of the server's own authority opens the door's page over https, where browsers allow the camera.
// The server answers the page and the file over http too, because a phone that does not trust the authority yet cannot use https.

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
	return sendPage(x, func(w io.Writer, in language.Tag) error { return x.server.pages.Trust(w, t, in) })
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
