package venue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/table"
)

// TestKeysChangeAtAConnectedLaptop: one that is made at the centre lets in at the door, and one that is revoked lets nobody in any
// more, long before the two shake hands again.
func TestKeysChangeAtAConnectedLaptop(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.join()
	w.arrives(w.laptop, w.sell(w.centre, "first")) // it is connected
	for round := range 2 {
		key, secret := kvtest.Key(t, w.centre, "event:1", "checkin:*")
		w.login(key, secret, nil)
		p, err := w.centre.Keys.Login(key, secret)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := w.centre.Keys.RevokeKey(auth.Operator(), p.Key()); err != nil {
			t.Fatal(err)
		}
		w.login(key, secret, table.ErrRevoked)
		t.Logf("round %d: a revoked key is refused at the laptop after %v", round, time.Since(began))
	}
}

// login waits until a key is judged at the laptop as it is wanted.
func (w *town) login(key, secret string, want error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 10*time.Second)
	defer cancel()
	db, err := w.laptop.Docs.Database(auth.Operator(), "records")
	if err != nil {
		w.Fatal(err)
	}
	for ctx.Err() == nil {
		info, err := db.Info()
		if err != nil {
			w.Fatal(err)
		}
		_, is := w.laptop.Keys.Login(key, secret)
		if errors.Is(is, want) {
			return
		}
		soon, end := context.WithTimeout(ctx, 50*time.Millisecond) // the change may be there already, and not count yet
		_ = db.Await(soon, info.Seq)
		end()
	}
	_, is := w.laptop.Keys.Login(key, secret)
	w.Fatalf("the key is judged %v, want %v", is, want)
}
