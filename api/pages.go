package api

import (
	"bytes"
	"net/http"
	"strconv"

	"doorward/api/web"
)

// pageHeaders are what every page and what lies beside it is sent with.
func pageHeaders(h http.Header, media string, length int) {
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(length))
	h.Set("Content-Security-Policy", web.Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", "camera=(self), microphone=(), geolocation=()")
}

// doorPage answers GET /door: the page for helpers at a door.
func doorPage(x *exchange) error {
	var page bytes.Buffer
	if err := web.Door(&page, web.Page{Base: x.server.Prefix(), Trust: len(x.server.config.Local.Authority) > 0}); err != nil {
		return err
	}
	return x.page(page.Bytes(), "text/html; charset=utf-8")
}

// page sends a page, or what lies beside it.
func (x *exchange) page(body []byte, media string) error {
	pageHeaders(x.Header(), media, len(body))
	_, err := x.Write(body)
	return unlessGone(err)
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
		return x.page(a.Body, a.Media)
	}
}

// unlessGone is errGone for an answer that could not be written.
func unlessGone(err error) error {
	if err != nil {
		return errGone
	}
	return nil
}
