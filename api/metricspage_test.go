package api_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"doorward/api"
	"doorward/kv/kvtest"
)

func TestMetricsListenerAnswersNothingElse(t *testing.T) {
	server, err := api.New(api.Config{Store: kvtest.Open(t)})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]int{
		"GET /metrics": 200, "HEAD /metrics": 200, "POST /metrics": 405, "DELETE /metrics": 405, "GET /": 404, "GET /v1/people/": 404, "POST /v1/people/": 404,
	} {
		method, path, _ := strings.Cut(target, " ")
		w := httptest.NewRecorder()
		server.Metrics().ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != want || strings.Contains(w.Body.String(), "doorward_") != (want == 200) { // net/http keeps the body of a HEAD to itself
			t.Errorf("%s = %d %.60q, want %d", target, w.Code, w.Body, want)
		}
	}
}
