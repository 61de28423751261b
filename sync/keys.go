package sync

import (
	"context"
	"net/http"
	"time"

	"doorward/sync/handshake"
)

// keysHeld is how long a question for other keys waits. Networks may cut a link that is quiet for longer.
const keysHeld = 20 * time.Second

// awaitKeys answers once the keys that are valid at the laptop have changed since a mark. The laptop then shakes hands, so a key that is
// revoked at the centre is refused at the door at once.
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
