package control

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"doorward/sync/dial"
	"doorward/sync/venue"

	"doorward/kv"
	"doorward/sync"
)

// Handler answers the owner of the folder.
//
//	/sync/…                     replication
//	POST /control/venue/join    {"url","code","insecure"} → Centre
//	/…                          the control handler of api
type Handler struct {
	Store    *kv.Store
	Peers    *sync.Server
	Commands http.Handler // the control handler of api
	Wake     func()       // is called when the store has joined a centre; nil = no loop runs
	Version  string
	Logger   *slog.Logger
}

// HTTP is the handler as one http.Handler.
func (h *Handler) HTTP() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", h.Commands)
	mux.HandleFunc("POST "+JoinPath, h.join)
	replication := h.Peers.Control()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/sync/") {
			replication.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// JoinPath is where a command asks to join a centre.
const JoinPath = "/control/venue/join"

// Joining is the request to join a centre.
type Joining struct {
	URL      string `json:"url"`
	Code     string `json:"code"`
	Insecure bool   `json:"insecure"`
}

// Centre is a centre that was joined, without the secrets of this store.
type Centre struct {
	ID     int64     `json:"id"`
	Name   string    `json:"name"`
	URL    string    `json:"url"`
	Realm  string    `json:"realm"`
	Centre string    `json:"centre"`
	Ends   time.Time `json:"expires_at"`
}

// join joins a centre, then wakes the loop that exchanges changes with it.
func (h *Handler) join(w http.ResponseWriter, r *http.Request) {
	var j Joining
	if json.NewDecoder(r.Body).Decode(&j) != nil {
		j = Joining{} // an empty URL is refused
	}
	u, err := venue.Join(r.Context(), venue.JoinConfig{Store: h.Store, URL: j.URL, Code: j.Code, Insecure: j.Insecure})
	if err != nil {
		Refuse(w, joinStatus(err), err)
		return
	}
	if h.Wake != nil {
		h.Wake()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Centre{u.ID, u.Name, u.URL, h.Store.Tables.Identity.Realm(), u.Node, u.Ends}) // the command may be gone
}

// Refuse answers a request with an error.
func Refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(Failure{Problem{Message: err.Error()}}) // the command may be gone
}

// joinStatus tells wrong usage from other failures.
func joinStatus(err error) int {
	for _, usage := range []error{dial.ErrURL, venue.ErrCentre, venue.ErrPlain, venue.ErrNoCode} {
		if errors.Is(err, usage) {
			return http.StatusBadRequest
		}
	}
	return http.StatusConflict
}
