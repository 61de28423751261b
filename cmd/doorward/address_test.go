package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doorward/cmd/doorward/invite"
)

func TestAServerAtAllAddressesIsReachedAtLocalhostAndByPhones(t *testing.T) {
	for _, address := range []string{"127.0.0.1:8080", "192.168.0.7:80", "porta.local:8080"} {
		if here, phones := invite.Addresses(address); here != address || len(phones) != 0 {
			t.Errorf("%s = %s, %v", address, here, phones)
		}
	}
	for _, address := range []string{"0.0.0.0:8080", "[::]:8080"} {
		here, phones := invite.Addresses(address)
		if here != "localhost:8080" {
			t.Errorf("%s: here is %s", address, here)
		}
		for _, phone := range phones {
			if strings.HasPrefix(phone, "127.") || !strings.HasSuffix(phone, ":8080") {
				t.Errorf("%s: no phone reaches %s", address, phone)
			}
		}
	}
}

func TestAnErasureAsksByName(t *testing.T) {
	dir, ctx := filepath.Join(t.TempDir(), "d"), context.Background()
	lines := `{"kind":"church","id":1,"name":"Central"}` + "\n" + `{"kind":"person","id":1,"full_name":"Zacarias Luz","church_id":1}`
	if code, _, errs := run(ctx, strings.NewReader(lines), "import", "--data", dir, "-"); code != exitDone {
		t.Fatal(errs)
	}
	code, _, errs := run(ctx, strings.NewReader("no\n"), "erase", "person", "1", "--data", dir)
	if code != exitUsage || !strings.HasPrefix(errs, "Erase Zacarias Luz (person 1) for good? Type yes: ") {
		t.Errorf("no = %d: %s", code, errs)
	}
	if code, out, errs := run(ctx, strings.NewReader("yes\n"), "erase", "person", "1", "--data", dir); code != exitDone || !strings.HasPrefix(out, "person 1 is erased") {
		t.Errorf("yes = %d: %s%s", code, out, errs)
	}
	if code, out, errs := run(ctx, strings.NewReader(""), "erase", "person", "1", "--data", dir); code != exitDone || !strings.HasPrefix(out, "person 1 was erased on ") || errs != "" {
		t.Errorf("again = %d: %s%s", code, out, errs)
	}
}

func TestAKeyIsGoodForDaysOrToTheEndOfOne(t *testing.T) {
	zone := time.FixedZone("here", -3*3600)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, zone)
	for text, want := range map[string]string{
		"": "", "0": "", "48h": "2026-03-03T12:00:00-03:00", "30d": "2026-03-31T12:00:00-03:00", "2026-03-01": "2026-03-02T00:00:00-03:00",
		"2026-02-28": "refused", "0d": "refused", "-3d": "refused", "-1h": "refused", "99999999d": "refused", "30": "refused", "31/12/2026": "refused",
	} {
		got := ""
		if end, err := expiry(text, now, zone); err != nil {
			got = "refused"
		} else if !end.IsZero() {
			got = end.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("--expires %q = %q, want %q", text, got, want)
		}
	}
}

// TestALastDayLastsUntilItsEnd: in Santiago the clocks skip the midnight after 5 September 2026.
func TestALastDayLastsUntilItsEnd(t *testing.T) {
	zone, err := time.LoadLocation("America/Santiago")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"2026-09-05": "2026-09-06T01:00:00-03:00", "2026-09-06": "2026-09-07T00:00:00-03:00"} {
		if end, err := expiry(text, time.Date(2026, 9, 1, 0, 0, 0, 0, zone), zone); err != nil || end.Format(time.RFC3339) != want {
			t.Errorf("--expires %s = %v, %v, want %s", text, end, err, want)
		}
	}
}
