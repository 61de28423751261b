package reach

import (
	"net/http"
	"testing"
)

func TestClientAddrTakesAnIPv6NetworkAsOne(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::", "@": "invalid IP",
	} {
		if got := ClientAddr(&http.Request{RemoteAddr: remote}).String(); got != want {
			t.Errorf("clientAddr(%s) = %s, want %s", remote, got, want)
		}
	}
}
