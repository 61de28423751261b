package api

import (
	"net/http"
	"slices"
	"strings"
)

// fileMedia is the media type that any file may be sent as, and the one that the OpenAPI document names first.
const fileMedia = "application/octet-stream"

// fileBody is a body that is a file.
type fileBody struct {
	types   []string // its media types; "" = none need be given
	example string
}

// holds tells whether a request's body is a file of these types, as it is and not compressed. A form that holds a file is none.
func (f *fileBody) holds(h http.Header) bool {
	if len(h["Content-Type"]) > 1 || len(h["Content-Encoding"]) > 0 {
		return false
	}
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return slices.Contains(f.types, strings.ToLower(strings.TrimSpace(media)))
}

// describe is the body in the OpenAPI document.
func (f *fileBody) describe() map[string]any {
	others := slices.DeleteFunc(slices.Clone(f.types), func(name string) bool { return name == "" || name == fileMedia })
	return map[string]any{
		"required":    true,
		"description": "The file as it is, not as a part of a form. It may also be sent as " + strings.Join(others, ", ") + ".",
		"content":     content(fileMedia, map[string]any{"type": "string", "format": "binary"}, f.example),
	}
}
