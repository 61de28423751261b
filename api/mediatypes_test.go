package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestMediaTypesOnEveryRoute sends each route bodies of types that pages of other sites can send, and
// of those that it takes. The routes are those of the router, asked for records that are there: a
// missing one is told before the type.
func TestMediaTypesOnEveryRoute(t *testing.T) {
	w := newWorld(t)
	const xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	for _, rt := range unsafeRoutes(t, w.server) {
		method, path := rt[0], rt[1]
		there := w.there(path)
		file, photo := strings.HasPrefix(path, "/admin/v1/import"), strings.HasPrefix(path, "/door/v1/decode")
		for media, taken := range map[string]bool{
			"": photo, "text/plain": photo, "text/plain;charset=UTF-8": photo, "application/x-www-form-urlencoded": photo, "multipart/form-data; boundary=x": photo,
			"application/jsonx": photo, "image/png": photo, "text/csv": photo || file, "application/x-ndjson": photo || file, xlsx: photo || file,
			"application/octet-stream": photo || file, "application/json": true, "Application/JSON; charset=utf-8": true,
		} {
			at := there
			if taken {
				at = path // of no record, so that nothing is done
			}
			a := w.do(method, at, "[]", header("Content-Type", media), invalid)
			if !taken && at == path && a.status == http.StatusNotFound && strings.Contains(at, "999") {
				continue
			}
			if refused := a.status == http.StatusUnsupportedMediaType; refused == taken {
				t.Errorf("%s %s with %q = %d %s, want it taken: %t", method, at, media, a.status, a.body, taken)
			}
		}
		unknown := func(c *call) { c.ContentLength, c.Body = -1, io.NopCloser(strings.NewReader("[]")) }
		if a := w.do(method, there, "[]", header("Content-Type", ""), unknown, invalid); a.status != http.StatusUnsupportedMediaType && !photo && there != path {
			t.Errorf("%s %s with a body of unknown type and length = %d %s", method, there, a.status, a.body)
		}
	}
}

// there is a path whose record is there, of one with the number 999; the path itself if there is no
// record of its kind.
func (w *world) there(path string) string {
	w.Helper()
	before, after, named := strings.Cut(path, "999")
	if !named {
		return path
	}
	list := strings.Replace(before, "/door/v1/", "/v1/", 1)
	a := w.do("GET", list, "", invalid)
	if id := ""; a.status == http.StatusOK {
		if id = a.text(w, "results.0.id"); id != "" {
			return before + id + after
		}
	}
	return path
}
