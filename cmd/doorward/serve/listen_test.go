package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
)

// told hands on the messages of a log.
type told struct {
	slog.Handler
	messages chan string
}

func (l told) Handle(_ context.Context, r slog.Record) error {
	l.messages <- r.Message
	return nil
}

// TestAPortThatIsTakenIsTriedAgain after a restore: another program that has it for a moment does not end the server.
func TestAPortThatIsTakenIsTriedAgain(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := other.Addr().String()
	messages := make(chan string, 100)
	f := &faces{log: slog.New(told{slog.Default().Handler(), messages})}
	defer f.close()
	taken := new(takenPort)
	if err := f.listen("--listen", &address); !errors.As(err, &taken) {
		t.Errorf("listen at a port that is taken = %v", err)
	}
	done := make(chan error)
	go func() { done <- f.listenAgain("--listen", &address) }()
	select {
	case <-messages:
	case err := <-done:
		t.Fatalf("listenAgain = %v while the port is taken", err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || len(f.listeners) != 1 {
		t.Errorf("listenAgain = %v, with %d listeners", err, len(f.listeners))
	}
}
