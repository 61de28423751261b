package venue

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/keys"
	"doorward/kv/laptop"
	"doorward/kv/office"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/handshake"
)

// ErrCentre says that an address cannot be a centre's.
var ErrCentre = errors.New("this is not the address of a centre: give it whole, as venue enrol prints it there: https://centre.example/#CODE")

// ErrPlain says that secrets would cross a network in the clear.
var ErrPlain = errors.New("the centre's address is http://, where everybody on the way can read all: https:// is wanted, or --insecure")

// centre returns a centre's site, the code behind it, and how far to dial for it.
func centre(address string, insecure bool) (site, code string, reach dial.Reach, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return "", "", 0, ErrCentre
	}
	code, u.Fragment = u.Fragment, ""
	site = strings.TrimRight(u.String(), "/")
	switch {
	case u.Scheme == "https" || insecure:
		return site, code, dial.Anywhere, nil
	case isLocal(u):
		return site, code, dial.Loopback, nil
	}
	return "", "", 0, ErrPlain
}

// CheckCentre returns ErrCentre or ErrPlain for an address that no store can join at.
func CheckCentre(address string, insecure bool) error {
	_, _, _, err := centre(address, insecure)
	return err
}

// IsLocal tells whether only this machine can reach an address.
func IsLocal(address string) bool {
	u, err := url.Parse(address)
	return err == nil && isLocal(u)
}

func isLocal(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback()
}

// JoinConfig says which centre a store joins, and with which code.
type JoinConfig struct {
	Store    *kv.Store
	URL      string // of the centre's site; a code may follow a #
	Code     string
	Insecure bool // http:// to other machines is allowed
}

// Join enrols a store at a centre. It returns ErrCentre, ErrPlain, ErrNoCode, office.ErrCode, office.ErrEnrolled or laptop.ErrOtherRealm. The store
// keeps what it learns.
func Join(ctx context.Context, c JoinConfig) (table.Upstream, error) {
	site, code, reach, err := centre(c.URL, c.Insecure)
	if err != nil {
		return table.Upstream{}, err
	}
	if c.Code != "" {
		code = c.Code
	}
	if code == "" {
		return table.Upstream{}, ErrNoCode
	}
	l, err := dial.New(dial.Config{URL: site + "/sync/_enrol", Client: dial.NewProxiedClient(reach)})
	if err != nil {
		return table.Upstream{}, err
	}
	defer l.Close()
	u := table.Upstream{URL: site, Insecure: c.Insecure}
	if u.Secret, err = secretFor(c.Store, code); err != nil {
		return table.Upstream{}, err
	}
	in, err := newEnrolRequest(c.Store, code, u.Secret)
	if err != nil {
		return table.Upstream{}, err
	}
	var out handshake.EnrolAnswer
	if err := sendEnrolRequest(ctx, l, in, &out); err != nil {
		return table.Upstream{}, err
	}
	codes, err := hex.DecodeString(out.CodeKey)
	if err != nil || len(codes) == 0 || out.Realm == "" || out.Node == "" || out.Key == "" {
		return table.Upstream{}, dial.ErrNoCentre
	}
	u.Node, u.ID, u.Name, u.Key, u.Ends, u.Chosen = out.Node, out.ID, out.Name, out.Key, out.Ends, out.Chosen
	handshake.Note(&u, out.Databases)
	return u, c.Store.Laptop.Join(auth.Operator(), u, office.Credential{Realm: out.Realm, CodeKey: codes})
}

// secretFor returns the secret that a store brings with a code. It is the same each time, so a store that the centre has enrolled, and that the
// answer never reached, joins by the same code still.
func secretFor(store *kv.Store, code string) (string, error) {
	u, joined, err := store.Laptop.Upstream()
	switch {
	case err != nil:
		return "", err
	case joined:
		return office.SecretFor(code, []byte(u.Secret)), nil
	case store.Laptop.MayJoin() == nil && !store.Tables.Identity.IsUnkeyed(): // it is empty, and no other store knows its key
		return office.SecretFor(code, store.Tables.Identity.Family().CodeKey), nil
	}
	return keys.DrawSecret(), nil
}

// newEnrolRequest makes the request of a store to be enrolled. A store that has joined before proves that it is the same.
func newEnrolRequest(store *kv.Store, code, secret string) (in handshake.EnrolRequest, err error) {
	j := office.Joiner{Node: store.Tables.Identity.Node(), Secret: keys.HashSecret(secret)}
	before, joined, err := store.Laptop.Upstream()
	if joined {
		j.Proof = j.Prove(code, before.Secret)
	}
	if err == nil {
		j.Holds, err = store.Laptop.Holdings(auth.Operator())
	}
	return handshake.EnrolRequest{Code: code, Node: j.Node, Secret: hex.EncodeToString(j.Secret[:]), Realm: store.Tables.Identity.Realm(), Vacant: store.Laptop.MayJoin() == nil, Proof: j.Proof, Holds: j.Holds}, err
}

// ErrNoCode says that the address has no code and none is given.
var ErrNoCode = errors.New("no code of enrolment is given")

// sendEnrolRequest sends the code, and again if the answer was lost.
func sendEnrolRequest(ctx context.Context, l *dial.Link, in handshake.EnrolRequest, out *handshake.EnrolAnswer) (err error) {
	for tries := range 3 {
		if err = l.Ask(ctx, http.MethodPost, l.At(), in, out); !dial.Transient(err) {
			break
		}
		if e := dial.Rest(ctx, dial.Pause(time.Second/4, tries, err)); e != nil {
			return e
		}
	}
	var no *dial.Refusal
	switch {
	case dial.Is(err, http.StatusForbidden):
		return office.ErrCode
	case dial.Is(err, http.StatusConflict):
		return laptop.ErrOtherRealm
	case dial.Is(err, http.StatusPreconditionFailed):
		return office.ErrEnrolled
	case dial.Is(err, http.StatusUnprocessableEntity) && errors.As(err, &no):
		return errors.New(no.Reason)
	case dial.Is(err, http.StatusNotFound):
		return errors.New("there is no Doorward at the address")
	}
	return err
}

// contact is how a laptop reaches its centre.
type contact struct {
	site   string // the centre's address
	reach  dial.Reach
	client *http.Client
	node   string // the centre's: an answer must name it
	key    string
	secret string
}

// trusted tells whether the centre may order the folder wiped: the link is https or local, so no one else can forge the order.
func (c *contact) trusted() bool {
	return c.reach == dial.Loopback || strings.HasPrefix(c.site, "https://")
}

// address returns how to reach a path below the centre's /sync.
func (c *contact) address(name string) dial.Config {
	return dial.Config{URL: c.site + "/sync/" + name, Client: c.client, Key: c.key, Secret: c.secret, Node: c.node}
}

// ask sends a small request to the centre, about no database, and reads the answer. It is a GET without a body, else a POST.
func (c *contact) ask(ctx context.Context, path string, body, out any) error {
	l, err := dial.New(c.address(""))
	if err != nil {
		return err
	}
	method := http.MethodPost
	if body == nil {
		method = http.MethodGet
	}
	return l.Ask(ctx, method, l.At(path), body, out)
}
