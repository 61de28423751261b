package dial

import (
	"context"
	"net"
)

// Eager makes a connection by dialling each second.
func Eager(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error)) (net.Conn, error) {
	return eager(dial)(ctx, "tcp", "centre:443")
}
