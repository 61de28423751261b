package api

import (
	"cmp"
	"encoding/base64"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"doorward/api/reach"
	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
)

// authenticate finds the caller, once. A right key and secret always pass, and are never counted.
func (x *exchange) authenticate(r *http.Request) (err error) {
	if x.known {
		return nil
	}
	key, secret, ok := credentials(r.Header["Authorization"])
	if !ok && len(r.Header["Authorization"]) == 0 {
		if key, secret, ok, err = (session{x}).credentials(r); err != nil {
			return err
		}
	}
	switch {
	case !ok && len(r.Header["Authorization"]) == 0: // counted, but not logged: no login was tried
		return cmp.Or(x.server.limits.Count(reach.ClientAddr(r), key), table.ErrBadLogin)
	case !ok:
		return x.server.failedLogin(r, key)
	}
	x.caller, err = x.server.Login(r, key, secret)
	x.known = err == nil
	return err
}

// lastWords lets the phone of a revoked door key hand in its kept scans. It returns false for any other caller.
func (x *exchange) lastWords(err error) bool {
	if !errors.Is(err, table.ErrRevoked) {
		return false
	}
	event, _ := record.Event.ParseID(x.request.PathValue("id")) // every route of a door names its event
	key, _, ok := credentials(x.request.Header["Authorization"])
	if !ok {
		key, _, _, _ = session{x}.credentials(x.request) // authenticate has found the pair right
	}
	x.caller, err = x.store().Keys.RevokedDoor(key, event.Int())
	x.known = err == nil
	return x.known
}

// failedLogin counts and logs a failed login. It returns ErrBadLogin, or an error that tells the client to wait.
func (s *Server) failedLogin(r *http.Request, key string) error {
	return cmp.Or(s.limits.Fail(reach.ClientAddr(r), key), table.ErrBadLogin)
}

// ration counts a request of a key that has a rate.
func (x *exchange) ration() error { return x.server.ration(x.Header(), x.caller) }

func (s *Server) ration(h http.Header, p auth.Principal) error {
	if rate := p.Rate(); rate > 0 {
		return s.limits.Ration(p.Key(), rate, h)
	}
	return nil
}

// seconds formats a wait for Retry-After: whole seconds, at least one.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}

// credentials reads the one Authorization header: Basic, in any case, then base64 of key, colon, secret, padded or not.
func credentials(values []string) (key, secret string, ok bool) {
	if len(values) != 1 {
		return "", "", false
	}
	scheme, coded, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	coded = strings.TrimRight(strings.TrimSpace(coded), "=")
	var space [192]byte
	plain, err := base64.RawStdEncoding.AppendDecode(space[:0], []byte(coded))
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(plain), ":")
}
