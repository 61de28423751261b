package sync

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"doorward/kv"

	"crypto/rand"
	"encoding/base64"
)

// joining is what a laptop brings to _enrol: its code and the hash of a secret that it has drawn.
type joining struct {
	Code   string `json:"code"`
	Node   string `json:"node"`
	Secret string `json:"secret_hash"`
	Realm  string `json:"realm"`
	Vacant bool   `json:"vacant"`          // it has no records, and may take another realm over
	Proof  []byte `json:"proof,omitempty"` // that it has the key which it had before

	Holds []string `json:"holds,omitempty"` // the databases of churches and events of which it has something
}

// joined is what it is given. It is the one answer that holds the key which codes are hashed with.
type joined struct {
	ID      int64     `json:"id"`
	Name    string    `json:"name"`
	Key     string    `json:"key"`
	Realm   string    `json:"realm"`
	Node    string    `json:"node"`
	CodeKey string    `json:"code_key"`
	Ends    time.Time `json:"expires_at"`
}

// enrol exchanges a code for a key of class node. Who guesses codes is slowed as who guesses secrets is.
func enrol(c *call) error {
	var in joining
	if err := c.readSmall(&in); err != nil {
		return err
	}
	hash, good := kv.ParseHash(in.Secret)
	if !good {
		return errShape
	}
	store := c.server.config.Store
	if in.Realm != store.Realm() && !in.Vacant {
		return kv.ErrOtherRealm
	}
	cred, err := store.Exchange(in.Code, kv.Joiner{Node: in.Node, Secret: hash, Proof: in.Proof, Holds: in.Holds})
	if errors.Is(err, kv.ErrCode) {
		var slow interface{ RetryAfter() time.Duration }
		if _, e := c.server.config.Gate.Login(c.request, "enrolment", ""); errors.As(e, &slow) {
			return e
		}
	}
	if err != nil {
		return err
	}
	c.server.config.Logger.Info("a laptop has joined", "id", cred.ID)
	c.Header().Set("Cache-Control", "no-store")
	return c.reply(http.StatusOK, joined{
		ID: cred.ID, Name: cred.Name, Key: cred.Key, Realm: cred.Realm, Node: cred.Centre, CodeKey: hex.EncodeToString(cred.CodeKey), Ends: cred.Ends,
	})
}

// maxSmall is how large a request between our own nodes may be that is no document.
const maxSmall = 1 << 20

// readSmall reads a small JSON body.
func (c *call) readSmall(v any) error {
	dec := json.NewDecoder(http.MaxBytesReader(c.ResponseWriter, c.request.Body, maxSmall))
	err := dec.Decode(v)
	var large *http.MaxBytesError
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return errTooLarge
	case errors.As(err, &syntax), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errJSON
	case isShape(err):
		return errShape
	}
	return errBroken
}

// isShape tells JSON of another shape from what could not be read at all.
func isShape(err error) bool {
	var other *json.UnmarshalTypeError
	var of *time.ParseError
	return errors.As(err, &other) || errors.As(err, &of)
}

// ErrCentre is an address that cannot be a centre's.
var ErrCentre = errors.New("this is not the address of a centre: give it whole, as venue enrol prints it there: https://centre.example/#CODE")

// ErrPlain is a centre that would be told secrets in the clear.
var ErrPlain = errors.New("the centre's address is http://, where everybody on the way can read all: https:// is wanted, or --insecure")

// centre is where a centre's site is, and how far to dial for it.
func centre(address string, insecure bool) (site, code string, reach Reach, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return "", "", 0, ErrCentre
	}
	code, u.Fragment = u.Fragment, ""
	site = strings.TrimRight(u.String(), "/")
	switch {
	case u.Scheme == "https" || insecure:
		return site, code, Anywhere, nil
	case isLocal(u):
		return site, code, Loopback, nil
	}
	return "", "", 0, ErrPlain
}

// CheckCentre answers nil where a store could join at an address, as far as the address tells: ErrCentre, ErrPlain.
func CheckCentre(address string, insecure bool) error {
	_, _, _, err := centre(address, insecure)
	return err
}

// IsLocal tells an address that only this machine itself can reach.
func IsLocal(address string) bool {
	u, err := url.Parse(address)
	return err == nil && isLocal(u)
}

func isLocal(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback()
}

// JoinConfig says which centre a store joins, and by what code.
type JoinConfig struct {
	Store    *kv.Store
	URL      string // of the centre's site; the code may stand behind a #
	Code     string
	Insecure bool // http:// to other machines is allowed
}

// Join makes a store one of a centre's: ErrCentre, ErrPlain, ErrNoCode, kv.ErrCode, kv.ErrOtherRealm. What it learns is kept in the store.
func Join(ctx context.Context, c JoinConfig) (kv.Upstream, error) {
	site, code, reach, err := centre(c.URL, c.Insecure)
	if err != nil {
		return kv.Upstream{}, err
	}
	if c.Code != "" {
		code = c.Code
	}
	if code == "" {
		return kv.Upstream{}, ErrNoCode
	}
	l, err := newLink(LinkConfig{URL: site + "/sync/_enrol", Client: NewClient(reach)})
	if err != nil {
		return kv.Upstream{}, err
	}
	defer l.close()
	u := kv.Upstream{URL: site, Insecure: c.Insecure, Secret: drawSecret()}
	in, err := introduce(c.Store, code, u.Secret)
	if err != nil {
		return kv.Upstream{}, err
	}
	var out joined
	if err := bring(ctx, l, in, &out); err != nil {
		return kv.Upstream{}, err
	}
	codes, err := hex.DecodeString(out.CodeKey)
	if err != nil || len(codes) == 0 || out.Realm == "" || out.Node == "" || out.Key == "" {
		return kv.Upstream{}, errNoCentre
	}
	u.Node, u.ID, u.Name, u.Key, u.Ends = out.Node, out.ID, out.Name, out.Key, out.Ends
	return u, c.Store.Join(kv.Operator(), u, kv.Credential{Realm: out.Realm, CodeKey: codes})
}

// introduce is what a store says of itself. One that has joined before shows that it is still the same.
func introduce(store *kv.Store, code, secret string) (in joining, err error) {
	j := kv.Joiner{Node: store.Node(), Secret: kv.HashSecret(secret)}
	before, joined, err := store.Upstream()
	if joined {
		j.Proof = j.Prove(code, before.Secret)
	}
	if err == nil {
		j.Holds, err = store.Holdings(kv.Operator())
	}
	return joining{Code: code, Node: j.Node, Secret: hex.EncodeToString(j.Secret[:]), Realm: store.Realm(), Vacant: store.MayJoin("") == nil, Proof: j.Proof, Holds: j.Holds}, err
}

// ErrNoCode is an address to join that has no code.
var ErrNoCode = errors.New("no code of enrolment is given")

// bring brings the code, once more where the answer was lost.
func bring(ctx context.Context, l *link, in joining, out *joined) (err error) {
	for tries := range 3 {
		if err = l.ask(ctx, http.MethodPost, l.at(), in, out); !transient(err) {
			break
		}
		if e := rest(ctx, pause(time.Second/4, tries, err)); e != nil {
			return e
		}
	}
	var no *refusal
	switch {
	case is(err, http.StatusForbidden):
		return kv.ErrCode
	case is(err, http.StatusConflict):
		return kv.ErrOtherRealm
	case is(err, http.StatusPreconditionFailed):
		return kv.ErrEnrolled
	case is(err, http.StatusUnprocessableEntity) && errors.As(err, &no):
		return errors.New(no.reason)
	case is(err, http.StatusNotFound):
		return errors.New("there is no Doorward at the address")
	}
	return err
}

func drawSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}
