package api_test

import (
	"testing"

	"doorward/api"
	"doorward/kv/kvtest"
)

func TestNewTakesOnlyHostsAndOriginsThatARequestCanName(t *testing.T) {
	store := kvtest.Open(t)
	for host, want := range map[string]bool{
		"porta.example": true, "PORTA.example.": true, "porta_2": true, "porta.example:8080": true, "10.0.0.7": true, "[fd00::7]": true, "[fd00::7]:80": true,
		"fd00::7": true, "xn--so-hia.example": true,
		"": false, "http://foo/": false, "foo/": false, "*.example": false, "a b": false, "me@porta.example": false, "são.example": false,
	} {
		if _, err := api.New(api.Config{Store: store, AllowedHosts: []string{"centro.example", host}}); (err == nil) != want {
			t.Errorf("New with the host %q = %v, want it taken: %t", host, err, want)
		}
	}
	for origin, want := range map[string]bool{
		"https://page.example": true, "HTTPS://Page.example": true, "http://localhost:3000": true, "http://[::1]:3000": true, "capacitor://localhost": true,
		"https://*.page.example": true,
		"":                       false, "foo": false, "*": false, "page.example": false, "page.example:443": false, "http://x/path": false, "https://page.example/": false,
		"https://me@page.example": false, "https://page.example?q": false, "https://": false, "https://:443": false,
	} {
		if _, err := api.New(api.Config{Store: store, CORSOrigins: []string{"https://a.example", origin}}); (err == nil) != want {
			t.Errorf("New with the origin %q = %v, want it taken: %t", origin, err, want)
		}
	}
}
