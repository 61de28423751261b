package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"doorward/kv/record"
)

// maxBody is the largest body of an ordinary request.
const maxBody = 1 << 20

// roomAhead is how much memory a body gets by its Content-Length alone.
const roomAhead = 16 << 10

// readBody reads a request's JSON; an empty body is an empty object.
func readBody(x *exchange) ([]byte, error) {
	r := x.request
	if r.ContentLength == 0 {
		return []byte("{}"), nil
	}
	if !isJSON(r.Header) {
		return onlyEmpty(x)
	}
	if r.ContentLength > maxBody {
		return nil, errTooLarge
	}
	body, err := readAll(http.MaxBytesReader(x.ResponseWriter, r.Body, maxBody), r.ContentLength)
	switch {
	case err != nil:
		return nil, unreadable(err)
	case len(body) == 0:
		return []byte("{}"), nil
	}
	return body, nil
}

// unreadable returns the error of a body that could not be read to its end.
func unreadable(err error) error {
	if errors.As(err, new(*http.MaxBytesError)) {
		return errTooLarge
	}
	return errUnreadable
}

// onlyEmpty takes a body of the wrong type, or of none, if it turns out to be empty.
func onlyEmpty(x *exchange) ([]byte, error) {
	if x.request.ContentLength > 0 {
		return nil, errMediaType
	}
	n, err := io.ReadFull(x.request.Body, make([]byte, 1))
	if n > 0 {
		return nil, errMediaType
	}
	if err != io.EOF {
		return nil, errUnreadable
	}
	return []byte("{}"), nil
}

// readAll reads a body of a given length. It allocates at most roomAhead before the bytes arrive.
func readAll(r io.Reader, length int64) ([]byte, error) {
	if length < 0 {
		return io.ReadAll(r)
	}
	body := bytes.NewBuffer(make([]byte, 0, min(length, roomAhead)+bytes.MinRead))
	_, err := io.CopyN(body, r, length)
	return body.Bytes(), err
}

// isJSON tells whether a request calls its body plain JSON.
func isJSON(h http.Header) bool {
	media, ok := mediaOf(h)
	return ok && media == jsonMedia
}

// mediaOf returns the media type of a request's body, in lower case; "" if the request names none. ok is false if it names several, or if
// the body is compressed.
func mediaOf(h http.Header) (media string, ok bool) {
	media, _, _ = strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media)), len(h["Content-Type"]) <= 1 && len(h["Content-Encoding"]) == 0
}

// readPatch reads a request's body as a record of a kind. Faults of single fields stay in the patch.
func readPatch(x *exchange, k *record.Kind, o record.ParseOptions) (*record.Patch, []byte, error) {
	body, err := readBody(x)
	if err != nil {
		return nil, nil, err
	}
	o.Zone = x.store().Tables.Clock.Zone()
	patch, err := k.Parse(body, o)
	return patch, body, err
}

// readForm reads a request's body as a form: a kind that is not stored. Its faults stay in the patch, for more to be added.
func readForm(x *exchange, k *record.Kind) (*record.Patch, []byte, error) {
	return readPatch(x, k, record.ParseOptions{Surface: record.Admin, Create: true})
}

// sound returns the faults of a form as an error; nil if there are none.
func sound(form *record.Patch) error {
	if len(form.Faults) > 0 {
		return form.Faults
	}
	return nil
}

// fileMedia is the media type that any file may be sent as, and the one that the OpenAPI document names first.
const fileMedia = "application/octet-stream"

// fileBody is a body that is a file.
type fileBody struct {
	types   []string // its media types; "" = none need be given
	example string
}

// holds tells whether a request's body is a file of these types, not compressed. A form that contains a file is not.
func (f *fileBody) holds(h http.Header) bool {
	media, ok := mediaOf(h)
	return ok && slices.Contains(f.types, media)
}

// describe returns the body for the OpenAPI document.
func (f *fileBody) describe() map[string]any {
	others := slices.DeleteFunc(slices.Clone(f.types), func(name string) bool { return name == "" || name == fileMedia })
	return map[string]any{
		"required":    true,
		"description": "The file as it is, not as a part of a form. It may also be sent as " + strings.Join(others, ", ") + ".",
		"content":     content(fileMedia, map[string]any{"type": "string", "format": "binary"}, f.example),
	}
}
