package kv_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/feed"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestReplayFollowsTheLog draws changes and page sizes: the pages of a follower are the log, with what it made.
func TestReplayFollowsTheLog(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s, _ := opened(t)
		loaded(t, s, row(t, record.Church, 1, `{"name":"A"}`), row(t, record.Church, 2, `{"name":"B"}`))
		for range rapid.IntRange(0, 20).Draw(r, "changes") {
			id := rapid.Int64Range(1, 5).Draw(r, "id")
			if rapid.Bool().Draw(r, "delete") {
				_ = s.Desk.Delete(auth.Operator(), target(record.Person, id)) // it may not be there
				continue
			}
			body := fmt.Sprintf(`{"full_name":"Ana %d","church_id":%d}`, rapid.Int().Draw(r, "name"), rapid.IntRange(1, 2).Draw(r, "church"))
			loaded(t, s, row(t, record.Person, id, body))
		}
		all := kvtest.Changes(t, s, 0)
		var got []feed.Replayed
		for since, end := uint64(0), false; !end; {
			limit := rapid.IntRange(1, 4).Draw(r, "limit")
			page, upto, err := s.Log.Replay(auth.Operator(), since, limit, record.Person)
			if err != nil || len(page) > limit {
				r.Fatalf("Replay after %d answers %d rows of %d, %v", since, len(page), limit, err)
			}
			got, end, since = append(got, page...), upto == since, upto
		}
		all = slices.DeleteFunc(all, func(c table.Change) bool { return c.Kind != record.Person })
		if len(got) != len(all) {
			r.Fatalf("Replay tells of %d people, the log of %d", len(got), len(all))
		}
		for i, c := range got {
			checkReplayed(r, s, c, all[i])
		}
	})
}

// checkReplayed compares a replayed change with the log's row and with what the store answers for the record.
func checkReplayed(t *rapid.T, s *kv.Store, got feed.Replayed, want table.Change) {
	reply, err := s.Desk.Retrieve(auth.Operator(), target(got.Kind, got.ID.Int()))
	church := string(got.Body.Member("church_id"))
	switch {
	case got.Change != want:
		t.Errorf("Replay tells of %+v, the log of %+v", got.Change, want)
	case got.Deleted && (errors.Is(err, table.ErrNotFound) && got.Home == 0 && len(got.Body.Shown) == 0):
	case got.Deleted || err != nil:
		t.Errorf("Replay of %d = %+v, the store answers %v", got.ID.Int(), got, err)
	case string(got.Body.Member("full_name")) != member(reply.JSON, "full_name") || church != fmt.Sprint(got.Home):
		t.Errorf("Replay of %d has %s at home in %d, the store %s", got.ID.Int(), got.Body.Shown, got.Home, reply.JSON)
	}
}

// TestReplayGoesOnPastOneView reads a log that is longer than what one View looks at.
func TestReplayGoesOnPastOneView(t *testing.T) {
	s, _ := opened(t)
	var rows []entry.Row
	for id := int64(1); id <= 2500; id++ {
		rows = append(rows, row(t, record.Group, id, `{"name":"G"}`))
	}
	loaded(t, s, rows...)
	for limit, want := range map[int]int{999: 999, 1000: 1000, 1001: 1001, 2500: 2500, 9000: 2500} {
		page, upto, err := s.Log.Replay(auth.Operator(), 0, limit, record.Group)
		if err != nil || len(page) != want || upto != uint64(want) {
			t.Errorf("Replay of %d = %d rows up to %d, %v, want %d", limit, len(page), upto, err, want)
		}
	}
	page, upto, err := s.Log.Replay(auth.Operator(), 7, 1200, record.Person)
	if err != nil || len(page) != 0 || upto != 1207 {
		t.Errorf("Replay of no kind that is there = %d rows up to %d, %v, want 0 up to 1207", len(page), upto, err)
	}
	if _, _, err := s.Log.Replay(kvtest.Login(t, s, "church:1"), 0, 10, record.Group); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("Replay for a church = %v, want ErrForbidden", err)
	}
}

// TestAwaitHearsWhatHappensMeanwhile: a change between the look and the wait is heard as well.
func TestAwaitHearsWhatHappensMeanwhile(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := kv.AwaitRung(ctx); err != nil {
		t.Errorf("await of a bell that rings while it looks = %v, want nil", err)
	}
}

// TestAwaitFollowsTheLog: a follower at each change's heels, and one whose time is up.
func TestAwaitFollowsTheLog(t *testing.T) {
	s, _ := opened(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	heard := make(chan uint64)
	seq := s.Tables.Commits.Seq() // before the first change
	go func() {
		for {
			if err := s.Log.Await(ctx, seq, s.Tables.Commits.Releases()); err != nil {
				ended <- err
				return
			}
			seq = s.Tables.Commits.Seq()
			heard <- seq
		}
	}()
	for id := int64(1); id <= 50; id++ {
		loaded(t, s, row(t, record.Church, id, `{"name":"A"}`))
		if seq := <-heard; seq != s.Tables.Commits.Seq() {
			t.Fatalf("heard of change %d, want %d", seq, s.Tables.Commits.Seq())
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Await past its time = %v, want context.Canceled", err)
	}
}
