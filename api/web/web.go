// Package web has the pages that people open: the one for helpers at a door, and the one by which a phone learns to trust the server. A
// page is HTML with the path of the server and the words of the browser's language filled in, and plain modules and styles beside it,
// embedded. It asks no other host for anything, and its scripts speak the public routes alone.
//
//	door.html              the page at /door
//	trust.html             the page at /door/trust
//	assets/door.js         what the page does: sign in, choose, scan, show
//	assets/session.js      requests, with the session's cookie
//	assets/secure.js       the way from http to https, where the camera is
//	assets/keys.js         codes that a hand scanner types
//	assets/camera.js       codes that a camera or a photo shows
//	assets/queue.js        scans that could not be decided, kept in the phone
//	assets/company.js      what happens at the other doors, as it happens
//	assets/signal.js       sounds and vibration
//	assets/words.js        sentences, from the catalogue of a language
//	assets/words.*.json    the catalogues, as go-i18n reads them
//	assets/sw.js           keeps the page in the phone for when the server is out of reach
//	assets/door.css        how it looks
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"io"
	"io/fs"
	"mime"
	"path"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
)

//go:embed door.html trust.html assets
var files embed.FS

// Policy is the Content-Security-Policy of the pages: nothing from elsewhere, nothing inline, no frame around them.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Page is what the page for helpers at a door needs of its server.
type Page struct {
	Base  string // the path that the server is mounted below: "" or "/doorward"
	Trust bool   // phones can be made to trust the server's own authority
}

// Languages are those that the pages speak. The first stands for all others.
var Languages = []language.Tag{language.English, language.BrazilianPortuguese}

var (
	doorPage  = template.Must(template.New("door.html").Funcs(template.FuncMap{"word": func(string) string { return "" }}).ParseFS(files, "door.html"))
	trustPage = template.Must(template.ParseFS(files, "trust.html"))
)

// Pages writes pages in the languages of their readers.
type Pages struct {
	bundle *i18n.Bundle
	choice language.Matcher
}

// New reads the catalogues. It fails if one is not as go-i18n reads it.
func New() (*Pages, error) {
	p := &Pages{i18n.NewBundle(Languages[0]), language.NewMatcher(Languages)}
	p.bundle.RegisterUnmarshalFunc("json", json.Unmarshal)
	for _, tag := range Languages {
		if _, err := p.bundle.LoadMessageFileFS(files, "assets/words."+tag.String()+".json"); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Door writes the page for helpers at a door. accept is the browser's Accept-Language.
func (p *Pages) Door(w io.Writer, at Page, accept string) error {
	wanted, _, _ := language.ParseAcceptLanguage(accept) // what cannot be read asks for nothing
	_, i, _ := p.choice.Match(wanted...)
	words := i18n.NewLocalizer(p.bundle, Languages[i].String())
	page, err := doorPage.Clone()
	if err != nil {
		return err
	}
	page.Funcs(template.FuncMap{"word": func(id string) (string, error) { return words.Localize(&i18n.LocalizeConfig{MessageID: id}) }})
	return page.Execute(w, struct {
		Page
		Language string
	}{at, Languages[i].String()})
}

// Trust is what the page needs by which a phone learns to trust the server's own authority.
type Trust struct {
	Base        string
	Language    string // "pt-BR" or "en"
	Other       string // the other one
	Name        string // of the certificate, as the phone shows it
	Fingerprint string
	Secure      string // the address of the door's page over https
}

// Portuguese reports the language of the page.
func (t Trust) Portuguese() bool { return t.Language == "pt-BR" }

// Write writes the page.
func (t Trust) Write(w io.Writer) error { return trustPage.Execute(w, t) }

// Asset is a file beside a page.
type Asset struct {
	Body   []byte
	Packed []byte // Body, with gzip
	Media  string
	ETag   string
}

// Assets returns the files beside the pages by their names.
func Assets() map[string]Asset {
	all := map[string]Asset{}
	entries, _ := fs.ReadDir(files, "assets") // embedded: it is there
	for _, e := range entries {
		body, _ := fs.ReadFile(files, "assets/"+e.Name())
		sum := sha256.Sum256(body)
		all[e.Name()] = Asset{body, Pack(body), mediaOf(e.Name()), `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
	return all
}

// Pack compresses a page, or what lies beside it, with gzip.
func Pack(body []byte) []byte {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(body) // a buffer takes everything
	_ = z.Close()
	return packed.Bytes()
}

// mediaOf is a file's media type, whatever the machine's own table says.
func mediaOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".json":
		return "application/json"
	}
	return mime.TypeByExtension(path.Ext(name))
}
