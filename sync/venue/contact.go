package venue

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"doorward/sync/dial"
)

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

// question is a small request to the centre, about no database.
type question struct {
	method, path string
	query        url.Values
	body         any // nil: there is none
}

// ask sends a question and reads the answer.
func (c *contact) ask(ctx context.Context, q question, out any) error {
	l, err := dial.New(c.address(q.path))
	if err != nil {
		return err
	}
	url := l.At()
	if q.query != nil {
		url += "?" + q.query.Encode()
	}
	return l.Ask(ctx, q.method, url, q.body, out)
}
