package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"doorward/kv/kvtest"
	"doorward/kv/table"
)

// The rows of contract.md §11 about Idempotency-Key.

func TestIdempotencyKeyMakesACreateHappenOnce(t *testing.T) {
	w := newWorld(t)
	for path, body := range map[string]string{
		"/v1/people/": `{"full_name":"Cai"}`, "/v1/financial_entries/": w.entryOf(w.church), membersPath(w.group): fmt.Sprintf(`{"person":%d}`, w.person),
		"/admin/v1/role/": `{"name":"R"}`, "/admin/v1/ticket/": fmt.Sprintf(`{"event_id":%d}`, w.event),
	} {
		first := w.status(w.do("POST", path, body, header("Idempotency-Key", "same")), 201)
		if first.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("POST %s: the first is marked", path)
		}
		for _, spelling := range []string{path, strings.TrimSuffix(path, "/")} {
			again := w.status(w.do("POST", spelling, body, header("X-Idempotency-Key", " same ")), 201)
			if again.body != first.body || again.header.Get("Idempotency-Replayed") != "true" ||
				again.header.Get("ETag") != first.header.Get("ETag") || again.header.Get("Location") != first.header.Get("Location") {
				t.Errorf("POST %s again = %s %v\nfirst %s %v", spelling, again.body, again.header, first.body, first.header)
			}
		}
		other := w.do("POST", path, strings.Replace(body, "{", `{"x":1,`, 1), header("Idempotency-Key", "same"))
		if other.status != 422 || other.text(t, "error.code") != "UNPROCESSABLE_ENTITY" {
			t.Errorf("POST %s with another body = %d %s", path, other.status, other.body)
		}
	}
}

func TestIdempotencyKeyBelongsToKeyMethodAndPath(t *testing.T) {
	w := newWorld(t)
	key := header("Idempotency-Key", "k")
	first := w.status(w.do("POST", "/v1/people/", `{}`, key), 201)
	other := w.as("denomination")
	if a := other.status(other.do("POST", "/v1/people/", `{}`, key), 201); a.text(t, "id") == first.text(t, "id") {
		t.Error("another api key got the same answer")
	}
	w.status(w.do("POST", "/admin/v1/person/", `{}`, key), 201)
}

func TestIdempotencyKeepsOnlySuccesses(t *testing.T) {
	w := newWorld(t)
	key := header("Idempotency-Key", "k")
	w.status(w.do("POST", "/v1/people/", `{"gender":"x"}`, key, invalid), 400)
	a := w.status(w.do("POST", "/v1/people/", `{"gender":"male"}`, key), 201)
	if a.header.Get("Idempotency-Replayed") != "" {
		t.Error("a refusal was kept")
	}
}

func TestIdempotencyIsKeptFor72Hours(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC))
	s := newSiteOver(t, kvtest.OpenConfig(t, table.Config{Clock: clock.Now}))
	key := header("Idempotency-Key", "k")
	first := s.status(s.do("POST", "/v1/people/", `{}`, key), 201)
	clock.Move(72*time.Hour - time.Second)
	if a := s.status(s.do("POST", "/v1/people/", `{}`, key), 201); a.text(t, "id") != first.text(t, "id") {
		t.Error("forgotten too early")
	}
	clock.Move(2 * time.Second)
	if a := s.status(s.do("POST", "/v1/people/", `{}`, key), 201); a.text(t, "id") == first.text(t, "id") {
		t.Error("kept too long")
	}
}

func TestIdempotencyOfManyAtOnceCreatesOne(t *testing.T) {
	s := newSite(t)
	ids := make(chan string, 16)
	var group sync.WaitGroup
	for range cap(ids) {
		group.Go(func() {
			ids <- s.do("POST", "/v1/people/", `{"full_name":"Cai"}`, header("Idempotency-Key", "k")).text(t, "id")
		})
	}
	group.Wait()
	close(ids)
	for id := range ids {
		if id != "1" {
			t.Errorf("id = %s, want 1 for all", id)
		}
	}
}

func TestIdempotencyKeyTooLong(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		s.status(s.do("POST", "/v1/people/", `{}`, header(name, strings.Repeat("é", 256))), 400)
		s.status(s.do("POST", "/v1/people/", `{}`, header(name, strings.Repeat("é", 255))), 201)
	}
}

func TestIdempotencyNeverKeepsASecret(t *testing.T) {
	s := newSite(t)
	key := header("Idempotency-Key", "k")
	const body = `{"name":"n","level":"denomination","permissions":["people:GET"]}`
	first, again := s.status(s.do("POST", "/admin/v1/keys/", body, key), 201), s.status(s.do("POST", "/admin/v1/keys/", body, key), 201)
	if first.text(t, "secret") == again.text(t, "secret") || again.header.Get("Idempotency-Replayed") != "" {
		t.Error("a secret was answered twice")
	}
}

func TestAPIVersionHeaderIsIgnored(t *testing.T) {
	s := newSite(t)
	s.status(s.do("GET", "/v1/people/", "", header("X-API-Version", "9")), 200)
}
