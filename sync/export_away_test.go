package sync

import (
	"context"
	"net"
	"net/http"
)

// RunOver is Venue.Run over a client.
func RunOver(ctx context.Context, c VenueConfig, client *http.Client) error {
	v, err := NewVenue(c)
	if err != nil {
		return err
	}
	v.client = func(Reach) *http.Client { return client }
	v.Run(ctx)
	return nil
}

// Eager makes a connection by dialling each second.
func Eager(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error)) (net.Conn, error) {
	return eager(dial)(ctx, "tcp", "centre:443")
}
