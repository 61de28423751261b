package pull_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doorward/api"
	"doorward/api/load"
	"doorward/api/load/demo"
	"doorward/api/pull"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
)

// centre is a real server with a congregation, and a key to read it.
type centre struct {
	*httptest.Server
	store       *kv.Store
	key, secret string
	asked       atomic.Int64 // requests
	cutAfter    atomic.Int64 // the connection is cut after so many; 0 = never
}

// newCentre serves the demo congregation, and records that have what it does not.
func newCentre(t *testing.T, permissions ...auth.Permission) *centre {
	t.Helper()
	c := &centre{store: kvtest.Open(t)}
	if _, err := demo.Make(context.Background(), c.store, auth.Operator(), demo.Options{Size: "s", Seed: 1}); err != nil {
		t.Fatal(err)
	}
	imported(t, c.store, `{"kind":"financial_entry","id":2147480000,"transaction_type":"expense","base_amount":"12.50","church_id":1,"financial_account_id":1,"supplier_id":1,"interest":"1.10","discount":"0.20","due_date":"2026-01-31","original_due_date":"2025-12-31","created_by":77,"small_group_ids":[1,2],"attachments":[{"id":4,"name":"nota.pdf","content_type":"application/pdf","size":9,"url":"https://files.example.org/4","created_at":"2026-01-01T00:00:00Z"}]}
{"kind":"person","id":2147480001,"full_name":"Ana Lima","photo":"https://files.example.org/a.jpg","role_ids":[1,2],"external_id":"x1","location_type":"national","location":{"city":"Santos"},"profile_change_date":"2019-05-05","created_at":"2018-01-01T00:00:00.123456Z"}
{"kind":"event","id":2147480002,"name":"Festa","start_datetime":"2026-12-31T19:30:00Z","location":{"city":"Santos","latitude":-23.9},"regional_id":1,"church_id":2,"issued_tickets":9,"event_fees":1.5,"list_rule":"daily","image":"https://files.example.org/e.jpg"}
{"kind":"membership","id":2147480003,"person":2147480001,"group_id":1,"is_approved":false,"joined_at":"2020-01-01T00:00:00Z"}
`)
	level, err := auth.ParseLevel("denomination")
	if err != nil {
		t.Fatal(err)
	}
	k, secret, err := c.store.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: "mirror", Level: level, Permissions: permissions})
	if err != nil {
		t.Fatal(err)
	}
	c.key, c.secret = k.Key, secret
	server, err := api.New(api.Config{Store: c.store})
	if err != nil {
		t.Fatal(err)
	}
	h := server.Handler()
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, most := c.asked.Add(1), c.cutAfter.Load(); most > 0 && n > most {
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

func imported(t *testing.T, s *kv.Store, lines string) {
	t.Helper()
	rep, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Reader: strings.NewReader(lines)}, nil)
	if err != nil || len(rep.Rejected) > 0 {
		t.Fatalf("import: %v, %+v", err, rep.Rejected)
	}
}

// config pulls from the centre into a store, and does not wait.
func (c *centre) config(s *kv.Store) pull.Config {
	return pull.Config{Store: s, Who: auth.Operator(), URL: c.URL, Key: c.key, Secret: c.secret, Client: &http.Client{}, Wait: hurried}
}

// hurried waits for nothing.
func hurried(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func pulled(t *testing.T, c pull.Config) *pull.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	rep, err := pull.Run(ctx, c)
	if err != nil {
		t.Fatalf("pull: %v", err)
	}
	return rep
}

// line is what a report says of a kind.
func line(rep *pull.Report, kind string) pull.Kind {
	for _, k := range rep.Kinds {
		if k.Kind == kind {
			return *k
		}
	}
	return pull.Kind{}
}

// sums are all records of a report by what became of them.
func sums(rep *pull.Report) (created, updated, unchanged, refused int) {
	for _, k := range rep.Kinds {
		created, updated, unchanged, refused = created+k.Created, updated+k.Updated, unchanged+k.Unchanged, refused+k.Refused
	}
	return created, updated, unchanged, refused
}
