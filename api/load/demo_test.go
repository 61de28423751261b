package load_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"doorward/api/load"
	"doorward/api/load/demo"
	"doorward/api/load/export"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
)

func TestDemoMakesACongregation(t *testing.T) {
	ctx := context.Background()
	clock := kvtest.NewClock(time.Date(2026, 12, 31, 15, 0, 0, 0, time.UTC))
	make := func(seed int64) (*kv.Store, demo.Report, []string) {
		s := kvtest.OpenConfig(t, kv.Config{Clock: clock.Now})
		var last int64
		rep, err := demo.Make(ctx, s, auth.Operator(), demo.Options{Size: "s", Seed: seed, Progress: func(done, total int64) {
			if total > 0 {
				last = total - done
			}
		}})
		if err != nil || last != 0 {
			t.Fatalf("Demo(seed %d) = %v with %d records left, want all made", seed, err, last)
		}
		var b bytes.Buffer
		if err := export.Write(ctx, &b, export.Options{Log: s.Log, Who: auth.Operator()}); err != nil {
			t.Fatal(err)
		}
		return s, rep, timeless(b.String())
	}
	s, rep, first := make(1)
	if got := count(t, s, record.Person); got != 300 || rep.People != 300 || rep.Tickets != 150 || len(rep.Codes) != 3 {
		t.Errorf("the store holds %d people; report = %+v", got, rep)
	}
	d, err := s.Door.CheckIn(auth.Operator(), door.Attempt{Event: rep.Event, Code: rep.Codes[0], Door: "north"})
	if err != nil || d.Outcome != outcome.Admitted {
		t.Errorf("CheckIn of a named code = %v, %v, want admitted", d.Outcome, err)
	}
	if _, err := demo.Make(ctx, s, auth.Operator(), demo.Options{}); !errors.Is(err, demo.ErrNotVacant) {
		t.Errorf("a second Demo = %v, want ErrNotVacant", err)
	}
	if _, _, again := make(1); !cmp.Equal(first, again) {
		t.Errorf("the same seed makes another congregation:\n%s", cmp.Diff(first, again))
	}
	if _, _, other := make(2); cmp.Equal(first, other) {
		t.Error("another seed makes the same congregation")
	}
}

func TestDemoRefusesAnUnknownSize(t *testing.T) {
	if _, err := demo.Make(context.Background(), kvtest.Open(t), auth.Operator(), demo.Options{Size: "huge"}); !errors.Is(err, load.ErrUsage) {
		t.Errorf("Demo of size huge = %v, want ErrUsage", err)
	}
}
