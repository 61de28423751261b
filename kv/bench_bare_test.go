package kv_test

import (
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"doorward/kv"
)

// bareCheckIn is the least that an HTTP check-in can be: chi, Basic with a constant-time compare, and one operation of our
// writer that puts a check-in's rows, without looking at anything.
func bareCheckIn(s *kv.Store, d *drawer, key, secret string) http.Handler {
	want := sha256.Sum256([]byte(secret))
	r := chi.NewRouter()
	r.Post("/v1/event/{id}/checkin/", func(w http.ResponseWriter, r *http.Request) {
		name, given, ok := r.BasicAuth()
		got := sha256.Sum256([]byte(given))
		if !ok || name != key || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if err := kv.BenchWrite(s, d.draw); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return r
}

// bareReply is the least that a read can be: chi, and bytes that were there before.
func bareReply(pattern string, body []byte) http.Handler {
	r := chi.NewRouter()
	r.Get(pattern, func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // the client notices
	})
	return r
}
