package invite

import (
	"strings"
	"testing"
	"time"
)

// TestADoorIsGoodUntilATimeInTheServersZone: this machine may be set to another one.
func TestADoorIsGoodUntilATimeInTheServersZone(t *testing.T) {
	zone, err := time.LoadLocation("Asia/Kathmandu")
	if err != nil {
		t.Fatal(err)
	}
	d := Door{URLs: []string{"http://192.0.2.1:8080/door#x"}, Expires: time.Date(2026, 11, 22, 19, 0, 0, 0, time.UTC), name: "Sunday", zone: zone}
	var out strings.Builder
	d.Print(&out)
	if want := "Sunday. On the helper's phone, once, until 00:45:"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("it prints %.60q, want %q", out.String(), want)
	}
}
