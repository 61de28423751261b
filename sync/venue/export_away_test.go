package venue

import (
	"context"
	"net/http"

	"doorward/sync/dial"
)

// RunOver is Venue.Run over a client.
func RunOver(ctx context.Context, c Config, client *http.Client) error {
	v, err := New(c)
	if err != nil {
		return err
	}
	v.newClient = func(dial.Reach) *http.Client { return client }
	v.Run(ctx)
	return nil
}
