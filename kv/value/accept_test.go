package value_test

import (
	"testing"

	"doorward/kv/value"
)

// TestAcceptsGzip: a quality of zero is no gzip, however it is written, and so is one that cannot be read.
func TestAcceptsGzip(t *testing.T) {
	for line, want := range map[string]bool{
		"gzip": true, "GZIP": true, "br, gzip": true, "gzip;q=1": true, "br;q=0, gzip ; q=0.001": true, "deflate,gzip;q=0.5,br": true,
		"": false, "br": false, "*": false, "x-gzip": false, "gzip;q=0": false, "gzip; q=0.0": false, "Gzip;Q=0.000": false, "br;q=1, gzip;q=0.": false,
		"gzip;q=-1": false, "gzip;q=none": false, "gzip;q": false,
	} {
		if got := value.AcceptsGzip([]string{"identity", line}); got != want {
			t.Errorf("AcceptsGzip(%q) = %t, want %t", line, got, want)
		}
	}
}
