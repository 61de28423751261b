package dial_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"doorward/sync/dial"
)

// TestALaptopDialsEverySecondDuringAnEvent: the first packet of a connection may be lost, and the system repeats it less and less often.
func TestALaptopDialsEverySecondDuringAnEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, dials := time.Now(), atomic.Int64{}
		near, far := net.Pipe()
		defer func() { _, _ = near.Close(), far.Close() }()
		conn, err := dial.Eager(t.Context(), func(ctx context.Context, _, _ string) (net.Conn, error) {
			if dials.Add(1) == 5 { // the link is back
				return near, nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if took := time.Since(began); err != nil || conn != near || took != 4*time.Second {
			t.Errorf("a connection after %v = %v, %v, want it four seconds after the first dial", took, conn, err)
		}
		refused := errors.New("connection refused")
		began = time.Now()
		_, err = dial.Eager(t.Context(), func(context.Context, string, string) (net.Conn, error) { return nil, refused })
		if took := time.Since(began); !errors.Is(err, refused) || took != 0 {
			t.Errorf("a dial that is refused = %v after %v, want the error at once", err, took)
		}
		_, err = dial.Eager(t.Context(), func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 10*time.Second {
			t.Errorf("no answer at all = %v after %v, want the dial given up", err, took)
		}
	})
}
