package sync

import (
	"context"
	"net/http"
	"time"

	"doorward/sync/handshake"
)

// keysHeld is how long a laptop's question after other keys is left without an answer. A link that is quiet for longer may be cut.
const keysHeld = 20 * time.Second

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
	return c.reply(http.StatusOK, handshake.KeyMark{Keys: mark})
}
