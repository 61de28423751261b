// Command ways serves a folder for TestTheWaysThroughTheHouse, which builds it with counters of what is carried out. It has no index: an
// index follows commits by itself, and no request waits for it.
//
//	POST /counters/clear        sets all counters to zero
//	POST /counters/write?dir=D  writes them into a folder
//
// Both wait until no other request is being answered.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/coverage"
	"strings"
	gosync "sync"

	"doorward/api"
	"doorward/kv"
	"doorward/sync"
)

func main() {
	if err := serve(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(dir string) error {
	store, err := kv.Open(kv.Config{Dir: dir})
	if err != nil {
		return err
	}
	site, err := api.New(api.Config{Store: store, AuthFailures: 20})
	if err != nil {
		return err
	}
	peers, err := sync.New(sync.Config{Store: store, Gate: site, Version: "ways"})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	h := &handler{public: site.Handler(), peers: site.Wrap(peers), operator: site.Control()}
	return api.HTTPServer(h).Serve(l)
}

// handler has the faces of a server, and the counters.
type handler struct {
	answering               gosync.RWMutex
	public, peers, operator http.Handler
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if first == "counters" {
		h.answering.Lock()
		defer h.answering.Unlock()
		if err := count(r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
		return
	}
	h.answering.RLock()
	defer h.answering.RUnlock()
	switch first {
	case "sync":
		h.peers.ServeHTTP(w, r)
	case "control", "admin":
		h.operator.ServeHTTP(w, r)
	default:
		h.public.ServeHTTP(w, r)
	}
}

// count clears the counters, or writes them and what they count.
func count(r *http.Request) error {
	dir := r.FormValue("dir")
	if dir == "" {
		return coverage.ClearCounters()
	}
	if err := coverage.WriteCountersDir(dir); err != nil {
		return err
	}
	return coverage.WriteMetaDir(dir)
}
