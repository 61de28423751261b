package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"doorward/kv"

	"github.com/spf13/cobra"
)

const compactPath = "/control/compact"

// compacted is what compacting has done.
type compacted struct {
	Before int64    `json:"bytes_before"`
	Bytes  int64    `json:"bytes"`
	Older  []string `json:"older_files"`
}

func (m *Main) compactCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use: "compact", Short: "Write the store's file anew, without what was deleted or erased", Args: cobra.NoArgs,
		Long: "A server that runs ends what it has begun, compacts the file and goes on: for that while it does not answer.",
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		done, err := m.compact(cmd.Context(), set)
		if err != nil {
			return err
		}
		if *asJSON {
			return m.printJSON(done)
		}
		fmt.Fprintf(m.Stdout, "%s bytes instead of %s\n", number(done.Bytes), number(done.Before))
		return m.printOlder(done.Older)
	}
	return cmd
}

// compact compacts a store, or has the server that runs do it.
func (m *Main) compact(ctx context.Context, set *settings) (done compacted, err error) {
	var held struct {
		Older []string `json:"older_files"`
		Due   int      `json:"uncompacted"`
	}
	err = m.on(ctx, opening{settings: set}, func(c *control) error { // what was begun to be erased is finished by it
		answer, err := c.call(ctx, request{method: http.MethodGet, path: "/control/olderfiles"})
		if err != nil {
			return err
		}
		return json.Unmarshal(answer, &held)
	})
	if err != nil {
		return done, err
	}
	done.Older, done.Before = held.Older, sizeOf(kv.Path(set.data))
	if conn, e := dialSocket(ctx, set.data); e == nil {
		_ = conn.Close() // it only showed that somebody answers
		_, err = m.bequeath(ctx, set.data, request{method: http.MethodPost, path: compactPath})
	} else if err = kv.Compact(set.data, time.Now()); err == nil && held.Due > 0 {
		err = forgetIndex(set.data)
	}
	done.Bytes = sizeOf(kv.Path(set.data))
	if errors.Is(err, kv.ErrInUse) {
		err = fmt.Errorf("another doorward is at work on the folder %s; try again when it is done", set.data)
	}
	return done, err
}

// forgetIndex deletes a search index that nobody keeps now: it may hold what was erased. The next server builds it anew.
func forgetIndex(dir string) error {
	return errors.Join(os.RemoveAll(filepath.Join(dir, "index")), os.RemoveAll(filepath.Join(dir, "index.broken")))
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// compactBetween compacts the store of a server that has closed it for a moment.
func compactBetween(dir string, log *slog.Logger) (last succession) {
	start, before := time.Now(), sizeOf(kv.Path(dir))
	if err := kv.Compact(dir, start); err != nil {
		log.Error("the store could not be compacted; it goes on as it was", slog.Any("cause", err))
		return succession{Error: err.Error()}
	}
	log.Info("the store is compacted", slog.Int64("before", before), slog.Int64("bytes", sizeOf(kv.Path(dir))), slog.Duration("took", time.Since(start)))
	return succession{}
}

// compactPause is how often a server looks whether its store is to be compacted.
const compactPause = 10 * time.Minute

// compactInTime has a server compact its store within a day of an erasure; end ends looking.
func (h *heir) compactInTime(ctx context.Context, store *kv.Store, log *slog.Logger) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(compactPause)
		defer tick.Stop()
		for {
			wants, err := store.WantsCompacting()
			switch {
			case err != nil:
				log.Warn("it is not known whether the store is to be compacted", slog.Any("cause", err))
			case wants && h.await("", true):
				log.Warn("the server stops for a moment to compact the store after an erasure")
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
