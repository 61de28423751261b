// Package web has the pages that people open: the one for helpers at a door, and the one by which a phone learns to trust the server. A page is HTML with the path of the server filled in, and
// plain modules and styles beside it, embedded. It asks no other host for anything, and its scripts speak the public routes alone.
//
//	door.html            the page at /door
//	trust.html           the page at /door/trust
//	assets/door.js       what the page does: sign in, choose, scan, show
//	assets/session.js    requests, with the session's cookie
//	assets/secure.js     the way from http to https, where the camera is
//	assets/keys.js       codes that a hand scanner types
//	assets/camera.js     codes that a camera or a photo shows
//	assets/queue.js      scans that could not be decided, kept in the phone
//	assets/signal.js     sounds and vibration
//	assets/words.js      every sentence, in English and Portuguese
//	assets/door.css      how it looks
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io"
	"io/fs"
	"mime"
	"path"
)

//go:embed door.html trust.html assets
var files embed.FS

var pages = template.Must(template.ParseFS(files, "*.html"))

// Policy is the Content-Security-Policy of the pages: nothing from elsewhere, nothing inline, no frame around them.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Page is what the page for helpers at a door needs of its server.
type Page struct {
	Base  string // the path that the server is mounted below: "" or "/doorward"
	Trust bool   // phones can be made to trust the server's own authority
}

// Door writes the page for helpers at a door.
func Door(w io.Writer, p Page) error { return pages.ExecuteTemplate(w, "door.html", p) }

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
func (t Trust) Write(w io.Writer) error { return pages.ExecuteTemplate(w, "trust.html", t) }

// Asset is a file beside a page.
type Asset struct {
	Body  []byte
	Media string
	ETag  string
}

// Assets returns the files beside the pages by their names.
func Assets() map[string]Asset {
	all := map[string]Asset{}
	entries, _ := fs.ReadDir(files, "assets") // embedded: it is there
	for _, e := range entries {
		body, _ := fs.ReadFile(files, "assets/"+e.Name())
		sum := sha256.Sum256(body)
		all[e.Name()] = Asset{body, mediaOf(e.Name()), `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
	return all
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
	}
	return mime.TypeByExtension(path.Ext(name))
}
