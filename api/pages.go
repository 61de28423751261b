package api

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"doorward/api/web"
)

// pageHeaders are what every page and what lies beside it is sent with.
func pageHeaders(h http.Header, media string) {
	h.Set("Content-Type", media)
	h.Set("Content-Security-Policy", web.Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", "camera=(self), microphone=(), geolocation=()")
}

// sendPage writes a body, packed where the browser takes it.
func (x *exchange) sendPage(body []byte, pack func() []byte) error {
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
	var page bytes.Buffer
	at := web.Page{Base: x.server.Prefix(), Trust: len(x.server.config.Local.Authority) > 0}
	if err := x.server.pages.Door(&page, at, x.request.Header.Get("Accept-Language")); err != nil {
		return err
	}
	pageHeaders(x.Header(), "text/html; charset=utf-8")
	x.Header().Add("Vary", "Accept-Language")
	return x.sendPage(page.Bytes(), func() []byte { return web.Pack(page.Bytes()) })
}

// assetRoute answers the files beside the pages. A browser asks each time whether they are still the same: a laptop may have been given another version.
func assetRoute() func(*exchange) error {
	assets := web.Assets()
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
		return x.sendPage(a.Body, func() []byte { return a.Packed })
	}
}

// unlessGone is errGone for an answer that could not be written.
func unlessGone(err error) error {
	if err != nil {
		return errGone
	}
	return nil
}
