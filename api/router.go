package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
)

// router finds a request's route. Both spellings of a path, with and without the slash at its end, are the same route.
type router struct {
	mux   *chi.Mux
	allow map[string]string // pattern → the methods it knows
}

// asterisk ends the path of a route that stands for everything below it.
const asterisk = "*"

func newRouter(prefix string, table []route) *router {
	rt := &router{mux: chi.NewRouter(), allow: map[string]string{}}
	methods := map[string][]string{}
	for i := range table {
		r := &table[i]
		for _, pattern := range spellings(prefix + r.path) {
			for _, method := range r.methods() {
				rt.mux.Method(method, pattern, endpoint{r})
				if !r.needs.browser {
					methods[pattern] = append(methods[pattern], method)
				}
			}
		}
	}
	for pattern, known := range methods {
		slices.Sort(known)
		rt.allow[pattern] = strings.Join(append(known, http.MethodOptions), ", ")
	}
	rt.mux.NotFound(rt.refuse)
	rt.mux.MethodNotAllowed(rt.refuse)
	return rt
}

// spellings are the patterns of a path: without and with the slash.
func spellings(path string) []string {
	if strings.HasSuffix(path, asterisk) {
		return []string{path}
	}
	bare := strings.TrimSuffix(path, "/")
	if bare == "" {
		return []string{path}
	}
	return []string{bare, bare + "/"}
}

// ServeHTTP answers OPTIONS to anybody and hands everything else to its route.
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.URL.RawPath = "" // %31 is 1: routes are matched on what the path means
	if r.Method == http.MethodOptions {
		if allow := rt.allowed(r.URL.Path); allow != "" {
			w.Header().Set("Allow", allow)
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	rt.mux.ServeHTTP(w, r)
}

// refuse answers a request that no route takes. The caller must be known first.
func (rt *router) refuse(w http.ResponseWriter, r *http.Request) {
	x := w.(*exchange)
	err := x.authenticate(r)
	if err == nil {
		err = errNoRoute
		if allow := rt.allowed(r.URL.Path); allow != "" {
			err = &wrongMethod{allow}
		}
	}
	x.fail(err)
}

// allowed are the methods that a path knows; "" for an unknown path.
func (rt *router) allowed(path string) string {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		if pattern := rt.mux.Find(chi.NewRouteContext(), method, path); pattern != "" {
			return rt.allow[pattern]
		}
	}
	return ""
}

// endpoint runs one route for one request.
type endpoint struct{ route *route }

// ServeHTTP checks the caller, in the order of the package's comment, and runs the route's handler.
func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := w.(*exchange)
	x.request, x.route = r, e.route
	err := e.route.admit(x)
	if err == nil {
		err = e.route.do(x)
	}
	if err != nil {
		x.fail(err)
	}
}

// admit checks the caller: key, permission, level, rate.
func (rt *route) admit(x *exchange) error {
	if rt.needs.open {
		return nil
	}
	if err := x.authenticate(x.request); err != nil && !(rt.needs.revoked && x.lastWords(err)) {
		return err
	}
	if rt.needs.resource != "" {
		if err := x.caller.Check(rt.needs.resource, rt.method); err != nil {
			return err
		}
	}
	if rt.needs.whole {
		if err := x.caller.CheckWhole(); err != nil {
			return err
		}
	}
	return x.ration()
}

// methods lists the methods that the router registers for a route.
func (rt *route) methods() []string {
	if rt.method == http.MethodGet {
		return []string{http.MethodGet, http.MethodHead}
	}
	return []string{rt.method}
}
