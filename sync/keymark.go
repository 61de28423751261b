package sync

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// keysHeld is how long a laptop's question after other keys is left without an answer. A link that is quiet for longer may be cut.
const keysHeld = 20 * time.Second

// keyMark answers GET /sync/_hello?keys=…
type keyMark struct {
	Keys string `json:"keys"`
}

// awaitKeys answers once the keys that work at the laptop too are no more those of the mark that it has: it shakes hands then, and
// so a key that is revoked at the centre is refused at the door at once.
func awaitKeys(c *call) error {
	if c.caller.Node() == "" {
		return errNode
	}
	ctx, stop := context.WithTimeout(c.request.Context(), keysHeld)
	defer stop()
	go func() {
		select {
		case <-c.server.closing.ended:
			stop()
		case <-ctx.Done():
		}
	}()
	mark, err := c.server.config.Store.AwaitKeys(ctx, c.caller, c.query.Get("keys"))
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, keyMark{Keys: mark})
}

// listen asks the centre to say when it has other keys than those of a mark, for as long as the link holds. A centre that gives no
// marks, or knows no such question, tells of its keys at the next handshake.
func (x *visit) listen(ctx context.Context, mark string, rekeyed chan<- struct{}) {
	var err error
	for mark != "" && err == nil {
		var told keyMark
		asked := x.ask(ctx, question{method: http.MethodGet, path: "_hello", query: url.Values{"keys": {mark}}}, &told)
		var refused *refusal
		switch {
		case errors.As(asked, &refused) && !transient(asked):
			return
		case asked != nil:
			err = rest(ctx, longestAway)
			continue
		case told.Keys != mark:
			mark = told.Keys
			select {
			case rekeyed <- struct{}{}:
			default: // it is known
			}
		}
		err = rest(ctx, helloSoon/10) // whatever the centre answers, it is not asked without end
	}
}
