package venue_test

import (
	"fmt"
	"testing"
	"time"

	"doorward/sync/venue"

	"github.com/prometheus/client_golang/prometheus"
)

// TestALaptopSaysThatItsKeyHasExpired: the metric says when it will, and the log says that this is why the centre refuses it.
func TestALaptopSaysThatItsKeyHasExpired(t *testing.T) {
	t.Parallel()
	w, registry := newTown(t), prometheus.NewRegistry()
	w.enrol(w.laptop)
	_, leave := w.followAs(venue.Config{Store: w.laptop, Registerer: registry})
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	leave()
	u, _, err := w.laptop.Laptop.Upstream()
	if err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range families {
		if f.GetName() == "doorward_credential_expiry_timestamp_seconds" {
			found = f.GetMetric()[0].GetGauge().GetValue() == float64(u.Ends.Unix())
		}
	}
	if !found {
		t.Errorf("no metric says that the key expires at %s", u.Ends)
	}
	w.later.Store(int64(401 * 24 * time.Hour))
	_, leave = w.follow(w.laptop)
	defer leave()
	w.tells(fmt.Sprintf(`level=ERROR msg="the centre refuses this laptop; what is made here is kept until it is enrolled there again" cause="this laptop's own key at the centre has expired on %s"`,
		u.Ends.UTC().Format(time.DateOnly)))
}
