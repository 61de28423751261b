package api_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"doorward/api"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestAFullDiskIs507 tells of each thing that is refused what it wants, and of what goes on.
func TestAFullDiskIs507(t *testing.T) {
	var left atomic.Int64
	left.Store(1 << 40)
	w := settle(newSiteOver(t, kvtest.OpenConfig(t, table.Config{Free: func() (int64, error) { return left.Load(), nil }})))
	for _, code := range []string{"A", "B", "C", "D"} {
		w.ticket(w.event, code, "")
	}
	imports := func() answer {
		return w.do("POST", "/admin/v1/import/?kind=church", `{"name":"Bulk"}`+"\n", header("Content-Type", "application/octet-stream"))
	}
	create := func() answer { return w.do("POST", "/v1/people/", `{"full_name":"Ana Souza","church_id":1}`) }
	for _, step := range []struct {
		free                    int64
		imports, create, letsIn int
		code                    string
		ready                   int
	}{
		{1 << 30, 200, 201, 204, "A", 200},
		{1<<30 - 1, 507, 201, 204, "B", 200},
		{256<<20 - 1, 507, 507, 204, "C", 200},
		{0, 507, 507, 507, "D", 507},
		{1 << 30, 200, 201, 204, "D", 200},
	} {
		left.Store(step.free)
		w.status(imports(), step.imports)
		refused := w.status(create(), step.create)
		if step.create == 507 {
			want := `{"error":{"code":"INSUFFICIENT_STORAGE","message":"The disk is nearly full: creates need 256.0 MiB free, and `
			if !strings.HasPrefix(refused.body, want) || refused.header.Get("Retry-After") == "" {
				t.Errorf("create is refused with Retry-After %q: %s", refused.header.Get("Retry-After"), refused.body)
			}
		}
		w.status(w.checkIn(w.event, step.code), step.letsIn)
		ready := w.status(w.do("GET", "/readyz", "", anybody), step.ready)
		if named := strings.Contains(ready.body, "nearly full"); named != (step.imports == 507) {
			t.Errorf("with %d bytes free readyz = %s", step.free, ready.body)
		}
		w.status(w.do("GET", "/v1/people/?search=ana", ""), 200)
	}
}

// TestAFullDiskHidesNoAnswer that needs no room: one that was given before, that nothing changes, or what is wrong.
func TestAFullDiskHidesNoAnswer(t *testing.T) {
	var left atomic.Int64
	left.Store(1 << 40)
	w := settle(newSiteOver(t, kvtest.OpenConfig(t, table.Config{Free: func() (int64, error) { return left.Load(), nil }})))
	once := func(body string) answer { return w.do("POST", "/v1/people/", body, header("Idempotency-Key", "once")) }
	body := `{"full_name":"Ana Souza","church_id":1}`
	w.status(once(body), 201)
	person := fmt.Sprintf("/v1/people/%d/", w.person)
	left.Store(256<<20 - 1)
	if again := w.status(once(body), 201); again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("what was answered before is answered anew: %s", again.body)
	}
	w.status(once(`{"full_name":"Eva Lima","church_id":1}`), 422)
	w.status(w.do("PATCH", "/v1/people/999/", `{}`), 404)
	w.status(w.do("PATCH", person, `{}`), 200)
	w.status(w.do("PATCH", person, `{"gender":"zz"}`, invalid), 400)
	w.status(w.do("PATCH", person, `{"full_name":"Bia Lima"}`), 507)
	w.status(w.do("POST", "/v1/people/", `{"gender":"zz"}`, invalid), 400)
	w.status(w.do("POST", "/v1/people/", body), 507)
}

// TestAnErasureThatFindsNoRoomIsSaidToBeNoted: whoever asks for it need not ask again.
func TestAnErasureThatFindsNoRoomIsSaidToBeNoted(t *testing.T) {
	var left atomic.Int64
	left.Store(1 << 40)
	store := kvtest.OpenConfig(t, table.Config{Free: func() (int64, error) { return left.Load(), nil }})
	server, err := api.New(api.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	id := kvtest.Create(t, store, record.Person, `{"full_name":"Ana Souza"}`)
	left.Store(0)
	for _, erasure := range []struct {
		id     int64
		status int
		want   string
	}{
		{id, 507, "need 16.0 MiB free, and 0.0 MiB are; the erasure is noted and carried out as soon as it can be, and nobody is shown the person until then."},
		{id + 1, 404, "Not found."}, // of somebody else nothing is noted
	} {
		w := httptest.NewRecorder()
		server.Control().ServeHTTP(w, httptest.NewRequest("POST", fmt.Sprintf("/control/erase?id=%d", erasure.id), nil))
		if w.Code != erasure.status || !strings.Contains(w.Body.String(), erasure.want) {
			t.Errorf("erasing %d on a full disk = %d %s, want %d and %q", erasure.id, w.Code, w.Body, erasure.status, erasure.want)
		}
	}
}

// TestReadyzTellsOfWhatCouldNotBeErased until it is; the server is of use meanwhile.
func TestReadyzTellsOfWhatCouldNotBeErased(t *testing.T) {
	var left atomic.Int64
	left.Store(1 << 40)
	store := kvtest.OpenConfig(t, table.Config{Free: func() (int64, error) { return left.Load(), nil }})
	w := settle(newSiteOver(t, store))
	left.Store(0)
	if _, err := store.Erasures.Erase(auth.Operator(), record.Person, record.Int(w.person)); err == nil {
		t.Fatal("erasing on a full disk does not fail")
	}
	left.Store(1 << 40)
	if ready := w.status(w.do("GET", "/readyz", "", anybody), 200); !strings.Contains(ready.body, `"reasons":["Something that is to be erased could not be`) {
		t.Errorf("readyz = %s, want that something could not be erased", ready.body)
	}
	if _, err := store.Erasures.Erase(auth.Operator(), record.Person, record.Int(w.person)); err != nil {
		t.Fatal(err)
	}
}
