package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"
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

// TestAllListenersEndTogether: while a request at one of them is finished, no other takes a request any more, and a request at each has the whole time.
func TestAllListenersEndTogether(t *testing.T) {
	f := &faces{log: slog.New(slog.DiscardHandler), drain: time.Minute}
	begun, finish := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-finish
	})
	var addresses []string
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f.add(l, &http.Server{Handler: slow})
		addresses = append(addresses, l.Addr().String())
	}
	ctx, end := context.WithCancel(t.Context())
	ended, answers := make(chan error), make(chan string)
	go func() { ended <- f.run(ctx) }()
	for _, address := range addresses {
		go func() { answers <- ask("http://" + address) }()
		<-begun
	}
	end()
	for _, address := range addresses {
		for late := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			c, err := net.Dial("tcp", address)
			if err != nil {
				break
			}
			_ = c.Close() // it only shows that there is a listener
			if time.Now().After(late) {
				t.Fatalf("a listener takes requests while the others are drained")
			}
		}
	}
	close(finish)
	for range addresses {
		if got := <-answers; got != "200 " {
			t.Errorf("a request that was begun is answered %q", got)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("run = %v", err)
	}
}
