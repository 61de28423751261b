// Package web has the pages that people open: the one for helpers at a door, their guide, the one by which a phone learns to trust the
// server, and the console of the people at the laptop. A page is HTML with the path of the server and the words of the browser's language filled in, and plain modules and styles beside it,
// embedded. It asks no other host for anything, and its scripts speak the public routes alone.
//
//	head.html              what the heads of the pages share
//	door.html              the page at /door
//	trust.html             the page at /door/trust
//	profile.go             the file by which an iPhone installs the certificate
//	guide.html             the page at /door/help: one printed sheet for helpers
//	guide.*.json           its sentences
//	login.html             the page at /login
//	console.html           the page at /, the console
//	console.*.json         the words of both
//	console/login.js       begins a session
//	console/console.js     follows the counts, and shows codes for phones
//	console/console.css    how both look
//	signs.html             the signs that pages draw
//	assets/door.js         what the page does: sign in, choose, scan, show
//	assets/session.js      requests, with the session's cookie
//	assets/store.js        what the page remembers of its helper
//	assets/secure.js       the way from http to https, where the camera is
//	assets/look.js         the colours that the helper has chosen, for the other pages
//	assets/trust.js        shows that way at /door/trust while no scan waits in the phone
//	assets/keys.js         codes that a hand scanner types
//	assets/camera.js       codes that a camera or a photo shows
//	assets/codes.js        which texts name the same ticket
//	assets/queue.js        scans that could not be decided, and those that were, kept in the phone
//	assets/company.js      what happens at the other doors, as it happens
//	assets/signal.js       sounds and vibration
//	assets/words.js        sentences, from the catalogue of a language
//	assets/words.*.json    the catalogues, as go-i18n reads them
//	assets/sw.js           keeps the page in the phone for when the server is out of reach
//	assets/door.css        how it looks
//	assets/guide.css       how the sheet looks, on paper too
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"mime"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	qrcode "github.com/skip2/go-qrcode"
	"golang.org/x/text/language"
)

//go:embed *.html guide.*.json console.*.json assets console
var files embed.FS

// Policy is the Content-Security-Policy of the pages: nothing from elsewhere, nothing inline, no frame around them.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Page is what the pages for helpers at a door, and the one that asks for a key, need of their server.
type Page struct {
	Base  string // the path that the server is mounted below: "" or "/doorward"
	Trust bool   // phones can be made to trust the server's own authority
}

// Languages are those that the pages speak. The first stands for all others.
var Languages = []language.Tag{language.English, language.BrazilianPortuguese}

// pages are the templates. A page that is written gets functions of its own: the words of its language, and the language.
var pages = template.Must(template.New("").Funcs(template.FuncMap{"word": fmt.Sprint, "sentence": fmt.Sprint, "language": fmt.Sprint}).ParseFS(files, "*.html"))

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
		for _, catalogue := range []string{"assets/words.", "guide.", "console."} {
			if _, err := p.bundle.LoadMessageFileFS(files, catalogue+tag.String()+".json"); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// Language is the language of a page: the one that its address asks for, else the one that the browser
// accepts.
func (p *Pages) Language(asked, accepted string) language.Tag {
	_, i := language.MatchStrings(p.choice, asked, accepted) // what cannot be read asks for nothing
	return Languages[i]
}

// Write writes a page with what it needs of its server: door.html, guide.html and login.html a Page, console.html a Console, trust.html a Trust.
func (p *Pages) Write(w io.Writer, name string, data any, in language.Tag) error {
	page, err := pages.Clone()
	if err != nil {
		return err
	}
	words := words{i18n.NewLocalizer(p.bundle, in.String())}
	page.Funcs(template.FuncMap{"word": words.word, "sentence": words.sentence, "language": in.String})
	return page.ExecuteTemplate(w, name, data)
}

// words are the words of one language.
type words struct{ catalogue *i18n.Localizer }

func (w words) word(id string) (string, error) {
	return w.catalogue.Localize(&i18n.LocalizeConfig{MessageID: id})
}

// named is a word of the door's page in a sentence of the guide.
var named = regexp.MustCompile(`\{([a-z.]+)\}`)

// sentence is a sentence of the guide. It shows the names of buttons as the door's page shows them.
func (w words) sentence(id string) (template.HTML, error) {
	text, err := w.word(id)
	marked := named.ReplaceAllStringFunc(template.HTMLEscapeString(text), func(name string) string {
		button, missing := w.word(strings.Trim(name, "{}"))
		err = errors.Join(err, missing)
		return "<b>" + template.HTMLEscapeString(button) + "</b>"
	})
	return template.HTML(marked), err //nolint:gosec // the catalogues are this program's own, and escaped
}

// state is a screen that a helper sees, in the guide.
type state struct{ Colour, Sign, Word, Name, Note, Text string }

// States returns the screens that the guide explains.
func (Page) States() []state {
	return []state{
		{"good", "yes", "admitted", "Ana S.", "", "guide.good"},
		{"ask", "look", "notice.title", "Gil R.", "guide.note", "guide.notice"},
		{"twice", "twice", "already_admitted", "Ana S.", "", "guide.twice"},
		{"bad", "no", "unpaid", "Iris M.", "", "guide.bad"},
		{"ask", "ask", "unreachable", "", "", "guide.ask"},
		{"out", "out", "left", "Ana S.", "", "guide.out"},
	}
}

// Trust is what the page needs by which a phone learns to trust the server's own authority.
type Trust struct {
	Base        string
	Name        string // of the certificate, as the phone shows it
	Fingerprint string // the SHA-256 of the certificate as phones show it: 32 pairs of digits
	Secure      string // the address of the door's page over https
}

// Asset is a file beside a page.
type Asset struct {
	Body   []byte
	Packed []byte // Body, with gzip
	Media  string
	ETag   string
}

// Assets returns the files beside the pages by their names, ConsoleAssets those that the console has besides: phones keep none of them. They are
// packed once for each program, at their first use. The caller changes nothing in them.
var (
	Assets        = sync.OnceValue(func() map[string]Asset { return assetsIn("assets") })
	ConsoleAssets = sync.OnceValue(func() map[string]Asset { return assetsIn("console") })
)

func assetsIn(folder string) map[string]Asset {
	all := map[string]Asset{}
	entries, _ := fs.ReadDir(files, folder) // embedded: it is there
	for _, e := range entries {
		body, _ := fs.ReadFile(files, folder+"/"+e.Name())
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

// Console is what the page for the people at the laptop shows of a key.
type Console struct {
	Base  string
	Name  string   // of the key
	Near  []Card   // the events that have their doors set up now
	Later []Card   // the others, with neither counts nor roles
	Needs []string // sentences that ask for a person, in the reader's language
}

// Card is an event. Start is as the datetime of an HTML time.
type Card struct {
	ID           int64
	Name, Start  string
	Open         bool // it takes check-ins
	Reentry      bool // In counts the guests that are inside now
	In, Expected int
	Roles        []string // of the helpers that the key may let in: "steward", "supervisor"
}

// QR is a QR code as the path of an SVG, which fills what is dark. Size is its width and height, with the light border.
type QR struct {
	Size int    `json:"size"`
	Path string `json:"path"`
}

// Draw makes the QR code of a text. It returns an error for a text that is too long for one.
func Draw(text string) (QR, error) {
	code, err := qrcode.New(text, qrcode.Medium)
	if err != nil {
		return QR{}, fmt.Errorf("draw a QR code: %w", err)
	}
	rows := code.Bitmap()
	var path strings.Builder
	for y, row := range rows {
		for x := 0; x < len(row); {
			end := x + 1
			for end < len(row) && row[end] == row[x] {
				end++
			}
			if row[x] {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x, y, end-x, end-x)
			}
			x = end
		}
	}
	return QR{len(rows), path.String()}, nil
}
