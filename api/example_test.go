package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"doorward/api"
	"doorward/kv"
)

func ExampleNew() {
	dir, err := os.MkdirTemp("", "doorward")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := kv.Open(kv.Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	server, err := api.New(api.Config{Store: store, AuthFailures: 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = api.HTTPServer(server.Handler())
	srv.Start()
	defer srv.Close()
	resp, err := http.Get(srv.URL + "/healthz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("Content-Type"))
	// Output: 200 OK application/json
}
