package api

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/text/language"

	"doorward/api/web"
)

// pageHeaders sets the headers of every page and of the files beside it.
func pageHeaders(h http.Header, media string) {
	h.Set("Content-Type", media)
	h.Set("Content-Security-Policy", web.Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", "camera=(self), microphone=(), geolocation=()")
}

// sendPage answers with a page in the language of its reader.
func sendPage(x *exchange, write func(io.Writer, language.Tag) error) error {
	in := x.server.pages.Language(x.request)
	var page bytes.Buffer
	if err := write(&page, in); err != nil {
		return err
	}
	x.Header().Set("Content-Language", in.String())
	x.Header().Add("Vary", "Accept-Language")
	pageHeaders(x.Header(), "text/html; charset=utf-8")
	return sendPacked(x, page.Bytes(), func() []byte { return web.Pack(page.Bytes()) })
}

// sendPacked writes a body, with gzip if the browser takes it.
func sendPacked(x *exchange, body []byte, pack func() []byte) error {
	h := x.Header()
	h.Add("Vary", "Accept-Encoding")
	if strings.Contains(x.request.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = pack()
	}
	return sendWhole(x, body)
}

// sendWhole writes a body and says how long it is.
func sendWhole(w http.ResponseWriter, body []byte) error {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err := w.Write(body)
	return unlessGone(err)
}

// doorPage answers GET /door: the page for helpers at a door.
func doorPage(x *exchange) error {
	at := web.Page{Base: x.server.Prefix(), Trust: len(x.server.config.Local.Authority) > 0}
	return sendPage(x, func(w io.Writer, in language.Tag) error { return x.server.pages.Door(w, at, in) })
}

// guidePage answers GET /door/help: the sheet for helpers, in the language that is asked for, else the browser's.
func guidePage(x *exchange) error {
	g := web.Guide{Base: x.server.Prefix()}
	return sendPage(x, func(w io.Writer, in language.Tag) error { return x.server.pages.Guide(w, g, in) })
}

// assetRoute answers the files beside the pages. A browser asks each time whether they have changed, because the server may run another
// version by now.
func assetRoute(assets map[string]web.Asset) func(*exchange) error {
	return func(x *exchange) error {
		a, ok := assets[x.request.PathValue(asterisk)]
		if !ok {
			return errNoRoute
		}
		h := x.Header()
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", a.ETag)
		if x.request.Header.Get("If-None-Match") == a.ETag {
			x.WriteHeader(http.StatusNotModified)
			return nil
		}
		pageHeaders(h, a.Media)
		h.Set("Service-Worker-Allowed", x.server.Prefix()+"/door") // the one that keeps the page lies here
		return sendPacked(x, a.Body, func() []byte { return a.Packed })
	}
}

// unlessGone returns errGone if an answer could not be written.
func unlessGone(err error) error {
	if err != nil {
		return errGone
	}
	return nil
}
