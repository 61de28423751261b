package kv_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

type recordKey struct {
	kind *record.Kind
	id   record.ID
}

// TestLogHasOneLiveRowPerRecord draws changes and compares the log with what was done last to each record.
func TestLogHasOneLiveRowPerRecord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		c := kv.Config{Dir: folder(t)}
		s := reopenable(t, c)
		defer func() { closed(t, s) }()
		w := drawnWorld(r)
		w.fill(t, s)
		for range rapid.IntRange(0, 30).Draw(r, "steps") {
			w.step(r, s)
		}
		if rapid.Bool().Draw(r, "restart") {
			closed(t, s)
			s = reopenable(t, c)
		}
		changes, live, dead := kvtest.Changes(t, s, 0), 0, map[recordKey]bool{}
		for i, ch := range changes {
			if i > 0 && ch.Seq <= changes[i-1].Seq || ch.Seq > s.Tables.Commits.Seq() {
				r.Fatalf("row %d has sequence %d, after %d, of %d", i, ch.Seq, changes[max(0, i-1)].Seq, s.Tables.Commits.Seq())
			}
			at := recordKey{ch.Kind, ch.ID}
			if dead[at] {
				r.Fatalf("%s %s has two live rows", ch.Kind.Name, ch.Kind.FormatID(ch.ID))
			}
			dead[at] = true
			reply, err := s.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.V1, Kind: ch.Kind, ID: ch.ID})
			switch {
			case ch.Deleted && kindOf(err) != "not found", !ch.Deleted && (err != nil || reply.Revision != ch.Revision.String()):
				r.Fatalf("row %+v, but the record is %s, %v", ch, reply.Revision, err)
			case !ch.Deleted:
				live++
			}
		}
		if last := len(changes); last > 0 && changes[last-1].Seq != s.Tables.Commits.Seq() {
			r.Errorf("the last row has sequence %d, the store %d", changes[last-1].Seq, s.Tables.Commits.Seq())
		}
		if got := len(exported(t, s)); got != live {
			r.Errorf("the log has %d live records, the store %d", live, got)
		}
	})
}

// TestCursorSeesEveryLastChange follows the log in small pages while records are written, and then knows all of them.
func TestCursorSeesEveryLastChange(t *testing.T) {
	s, _ := opened(t)
	const writers, records, rounds = 4, 10, 8
	done := make(chan struct{})
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			for i := range records * rounds {
				id := int64(n*records + i%records + 1)
				results, err := s.Desk.Upsert(auth.Operator(), []entry.Row{row(t, record.Church, id, fmt.Sprintf(`{"name":"round %d"}`, i/records))}, false)
				if err != nil || results[0].Err != nil {
					t.Errorf("upsert: %+v, %v", results, err)
				}
				if i%7 == 0 {
					if err := s.Desk.Delete(auth.Operator(), target(record.Church, id)); err != nil {
						t.Errorf("delete: %v", err)
					}
				}
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	known := map[record.ID]table.Change{}
	cursor := uint64(0)
	for last := false; ; {
		page, upto, err := s.Log.Replay(auth.Operator(), cursor, 3, record.Church)
		if err != nil || len(page) > 3 {
			t.Fatalf("changes: %d, %v", len(page), err)
		}
		for _, ch := range page {
			if ch.Seq <= cursor {
				t.Fatalf("sequence %d after the cursor %d", ch.Seq, cursor)
			}
			cursor, known[ch.ID] = ch.Seq, ch.Change
		}
		cursor = upto
		if len(page) > 0 {
			continue
		}
		if last {
			break
		}
		select {
		case <-done:
			last = true // one more look, at what was written before the end
		default:
		}
	}
	for _, ch := range kvtest.Changes(t, s, 0) {
		if known[ch.ID] != ch {
			t.Errorf("the follower knows %+v of church %d, the log says %+v", known[ch.ID], ch.ID.Int(), ch)
		}
	}
	if len(known) != writers*records {
		t.Errorf("the follower knows %d records, want %d", len(known), writers*records)
	}
	healthy(t, s)
}

func TestLogIsForTheDenomination(t *testing.T) {
	s, _ := opened(t)
	kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	for level, want := range map[string]string{"denomination": "ok", "regional:1": "forbidden", "church:1": "forbidden", "event:1": "forbidden"} {
		p := kvtest.Login(t, s, level, "*:*")
		_, _, changes := s.Log.Replay(p, 0, 10, record.Church)
		_, verify := s.Files.Verify(p, nil)
		export := s.Log.Export(p, record.Church, func([]byte) error { return nil })
		if got := []string{kindOf(changes), kindOf(verify), kindOf(export)}; !slices.Equal(got, []string{want, want, want}) {
			t.Errorf("at level %s changes, verify and export answer %v, want %s", level, got, want)
		}
	}
}
