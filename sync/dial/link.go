package dial

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Link sends requests to a server, or to a database of it.
type Link struct {
	client *http.Client
	base   *url.URL // without name and password
	user   *url.Userinfo
	node   string
}

// Config says where a server is. Only URL is needed.
type Config struct {
	URL    string       // it may hold a name and a password
	Client *http.Client // nil = one that dials anywhere
	Key    string       // logs in, if the URL does not
	Secret string
	Node   string // of the server, if it is one of ours: answers without its name are refused; "" = all count
}

// ErrURL is an address that cannot be a database's.
var ErrURL = errors.New("not the address of a database")

// New makes a link and sends nothing yet. It returns ErrURL for an address that cannot be a database's.
func New(c Config) (*Link, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, ErrURL // without the cause, which names the password
	}
	l := &Link{client: c.Client, base: u, user: u.User, node: c.Node}
	if l.client == nil {
		l.client = NewClient(Anywhere)
	}
	if l.user == nil && c.Key != "" {
		l.user = url.UserPassword(c.Key, c.Secret)
	}
	u.User = nil
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.EscapedPath(), "/")
	if u.Path == "" {
		return nil, ErrURL
	}
	return l, nil
}

// Headers between our own nodes. A client that sends HeaderFeed, and gets it back from a database, may use _feed. Each answer to a request
// with HeaderFeed names the node that gives it.
const (
	HeaderFeed    = "Doorward-Feed"
	FeedVersion   = "1"
	HeaderRealm   = "Doorward-Realm"
	HeaderNode    = "Doorward-Node"
	HeaderEpoch   = "Doorward-Epoch"
	HeaderCodeKey = "Doorward-Code-Key" // to the operator alone
)

// At returns the address of something below the link's own. The parts are escaped already.
func (l *Link) At(parts ...string) string {
	text := l.base.String()
	for _, p := range parts {
		text += "/" + p
	}
	return text
}

// Close closes idle connections.
func (l *Link) Close() { l.client.CloseIdleConnections() }

// Root returns the address of the server, and the name of the database as the link's address has it.
func (l *Link) Root() (server, database string) {
	root := *l.base
	cut := strings.LastIndex(root.EscapedPath(), "/")
	database = root.EscapedPath()[cut+1:]
	root.RawPath = root.EscapedPath()[:cut+1]
	root.Path, _ = url.PathUnescape(root.RawPath) // it was escaped before
	return root.String(), database
}

// Name returns the last part of the link's path.
func (l *Link) Name() string { return l.base.Path[strings.LastIndex(l.base.Path, "/")+1:] }
