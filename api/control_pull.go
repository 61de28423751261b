package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"doorward/api/pull"

	"github.com/go-json-experiment/json"
)

// pullForm is what a store is to be the mirror of. The secret is kept nowhere.
type pullForm struct {
	URL      string `json:"url"`
	Key      string `json:"key"`
	Secret   string `json:"secret"`
	Insecure bool   `json:"insecure"`
	DryRun   bool   `json:"dry_run"`
	Full     bool   `json:"full"`
	Moved    bool   `json:"moved"`
}

// errNoOutbound is a server that reaches no other.
var errNoOutbound = errors.New("api: no client for other servers")

// controlPull makes the store the mirror of another server.
func controlPull(x *exchange, r *http.Request) error {
	var form pullForm
	if err := json.UnmarshalRead(http.MaxBytesReader(x, r.Body, maxHeaders), &form); err != nil {
		return errUnreadable
	}
	loopback, err := form.reach()
	if err != nil {
		return err
	}
	if x.server.config.Outbound == nil {
		return errNoOutbound
	}
	st := newStream(x)
	rep, err := pull.Run(r.Context(), pull.Config{
		Store: x.store(), Who: x.caller, URL: form.URL, Key: form.Key, Secret: form.Secret, Client: x.server.config.Outbound(loopback),
		DryRun: form.DryRun, Full: form.Full, Moved: form.Moved, Progress: st.progress,
	})
	return st.end(rep, err)
}

// reach tells whether only this machine is dialled: where the secret would go in the clear.
func (f *pullForm) reach() (loopback bool, err error) {
	u, err := url.Parse(f.URL)
	if err != nil || u.Scheme != "http" || f.Insecure {
		return false, nil // what is no address is refused when it is read
	}
	at, failed := netip.ParseAddr(u.Hostname())
	if strings.EqualFold(u.Hostname(), "localhost") || failed == nil && at.IsLoopback() {
		return true, nil
	}
	return false, fmt.Errorf("%w: the address is http://, where everybody on the way can read the secret and all records: https:// is wanted, or --insecure", pull.ErrUsage)
}
