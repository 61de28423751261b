package index_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/index"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/search"
)

// onDisk is a congregation with its index on a disk of which left tells how much room there is.
func onDisk(t *testing.T) (s *kv.Store, x *index.Index, registry *prometheus.Registry, left *atomic.Int64) {
	t.Helper()
	left = &atomic.Int64{}
	left.Store(1 << 40)
	registry = prometheus.NewRegistry()
	dir := built(t)
	s = kvtest.OpenConfig(t, kv.Config{Dir: dir, Free: func() (int64, error) { return left.Load(), nil }})
	x = opened(t, s, index.Config{Dir: dir, Registerer: registry})
	caughtUp(t, s, x)
	return s, x, registry, left
}

// TestAnIndexWaitsWhileTheDiskIsNearlyFull changes records while the disk is nearly full: searches that ask the store find them,
// and the index has them once there is room.
func TestAnIndexWaitsWhileTheDiskIsNearlyFull(t *testing.T) {
	t.Parallel()
	s, x, registry, left := onDisk(t)
	left.Store(1<<30 - 1)
	before := s.Tables.Commits.Seq()
	id := kvtest.Create(t, s, record.Person, `{"full_name":"Rita Tardia","church_id":1}`)
	pausedIs(t, registry, 1)
	found, err := named(x, "tardia")
	if err != nil || len(found.IDs) > 0 || found.Upto != before {
		t.Errorf("while it waits Find = %+v, %v, want none up to %d", found, err, before)
	}
	page, err := s.Desk.List(auth.Operator(), desk.Query{Surface: record.Admin, Kind: record.Person, Search: search.Parse("tardia"), Finder: x, Limit: 10})
	if err != nil || page.Count != 1 {
		t.Errorf("a search while the index waits = %+v, %v, want one", page, err)
	}
	left.Store(1 << 30)
	caughtUp(t, s, x)
	wantFound(t, x, "tardia", id)
	pausedIs(t, registry, 0)
}

// pausedIs waits until the index says whether it waits.
func pausedIs(t *testing.T, r *prometheus.Registry, want float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for kvtest.Metric(t, r, "doorward_index_paused") != want {
		if ctx.Err() != nil {
			t.Fatalf("doorward_index_paused is not %v", want)
		}
	}
}
