package kv_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/table"
	"doorward/kv/upkeep"
)

// TestMetricsTellOfTheLastBackupAndVerify: also after a restart.
func TestMetricsTellOfTheLastBackupAndVerify(t *testing.T) {
	dir, clock := folder(t), kvtest.NewClock(sunday)
	for begin, want := range []float64{math.NaN(), float64(sunday.Unix())} {
		r := prometheus.NewRegistry()
		s := reopenable(t, table.Config{Dir: dir, Clock: clock.Now, Registerer: r})
		for _, name := range []string{"doorward_backup_timestamp_seconds", "doorward_verify_timestamp_seconds"} {
			if got := kvtest.Metric(t, r, name); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("opened for the %d. time: %s = %v, want %v", begin+1, name, got, want)
			}
		}
		if begin > 0 {
			if got := kvtest.Metric(t, r, "doorward_verify_faults"); got != 3 {
				t.Errorf("doorward_verify_faults = %v, want 3", got)
			}
		}
		if err := s.Files.NoteBackup(auth.Operator(), "/shelf/monday.db"); err != nil {
			t.Fatal(err)
		}
		if err := upkeep.NoteVerify(dir, upkeep.Verification{At: sunday, Faults: 3}); err != nil {
			t.Fatal(err)
		}
		if b, err := s.Figures.LastBackup(auth.Operator()); err != nil || !b.At.Equal(sunday) || b.Path != "/shelf/monday.db" {
			t.Errorf("LastBackup = %+v, %v", b, err)
		}
		if v, err := s.Figures.LastVerify(auth.Operator()); err != nil || !v.At.Equal(sunday) || v.Faults != 3 {
			t.Errorf("LastVerify = %+v, %v", v, err)
		}
		door := kvtest.Login(t, s, "denomination", "people:GET")
		if _, err := s.Figures.LastBackup(door); err == nil {
			t.Error("LastBackup tells a key without admin where backups lie")
		}
		closed(t, s)
	}
}

// TestMetricsTellWhichKeyEndsFirst: what was revoked or has no end does not count.
func TestMetricsTellWhichKeyEndsFirst(t *testing.T) {
	r, clock := prometheus.NewRegistry(), kvtest.NewClock(sunday)
	s := kvtest.OpenConfig(t, table.Config{Clock: clock.Now, Registerer: r})
	add := func(name string, life time.Duration) auth.Key {
		spec := keys.KeySpec{Name: name, Level: auth.Level{Name: auth.Denomination}}
		if life > 0 {
			spec.Expires = sunday.Add(life)
		}
		k, _, err := s.Keys.AddKey(auth.Operator(), spec)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	add("for ever", 0)
	if err := s.Keys.RevokeKey(auth.Operator(), add("revoked", time.Minute).ID); err != nil {
		t.Fatal(err)
	}
	add("door", 2*time.Hour)
	add("till", time.Hour)
	for _, step := range []struct {
		after   time.Duration
		soonest time.Duration // 0 = none
		name    string
		expired float64
	}{
		{0, time.Hour, "till", 0}, {time.Hour, 2 * time.Hour, "door", 1}, {time.Hour, 0, "", 2},
	} {
		clock.Move(step.after)
		want := math.NaN()
		if step.soonest > 0 {
			want = float64(sunday.Add(step.soonest).Unix())
		}
		if got := kvtest.Metrics(t, r, "doorward_key_expiry_timestamp_seconds")["key"]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("doorward_key_expiry_timestamp_seconds = %v, want %v", got, want)
		}
		if got := kvtest.Metrics(t, r, "doorward_keys_expired"); got["key"] != step.expired || got["laptop"] != 0 {
			t.Errorf("doorward_keys_expired = %v, want %v", got, step.expired)
		}
		if keys, _, err := s.Keys.KeyExpiry(auth.Operator()); err != nil || keys.Name != step.name {
			t.Errorf("KeyExpiry names %q, %v, want %q", keys.Name, err, step.name)
		}
	}
}

// TestMetricsCountCheckInsByEvent: only events of the store have a label, and refusals do not count.
func TestMetricsCountCheckInsByEvent(t *testing.T) {
	r := prometheus.NewRegistry()
	s := kvtest.OpenConfig(t, table.Config{Registerer: r})
	one, other := newEvent(t, s, ""), newEvent(t, s, "")
	for _, code := range []string{"A-1", "A-2"} {
		newTicket(t, s, one, code, "")
		scanned(t, s, gate(t, s, one), door.Attempt{Event: one, Code: code}, outcome.Admitted)
	}
	scanned(t, s, gate(t, s, other), door.Attempt{Event: other, Code: "A-1"}, outcome.UnknownCode)
	got := kvtest.Metrics(t, r, "doorward_event_checkins")
	if len(got) != 2 || got[strconv.FormatInt(one, 10)] != 2 || got[strconv.FormatInt(other, 10)] != 0 {
		t.Errorf("doorward_event_checkins = %v, want 2 of event %d and none of event %d", got, one, other)
	}
}
