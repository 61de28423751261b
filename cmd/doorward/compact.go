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

// compacted is what compacting has done.
type compacted struct {
	Before int64    `json:"bytes_before"`
	Bytes  int64    `json:"bytes"`
	Older  []string `json:"older_files"` // that hold what was erased
}

func (m *Main) compactCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use: "compact", Short: "Write the store's file anew, without what was deleted or erased", Args: cobra.NoArgs,
		Long: "A server that runs goes on meanwhile.",
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

// compact has the store compacted. Who does it without a server deletes the search index too where it may hold what was erased:
// nobody keeps it now, and the next server builds it anew.
func (m *Main) compact(ctx context.Context, set *settings) (done compacted, err error) {
	err = m.on(ctx, opening{settings: set}, func(c *control) error { // what was begun to be erased is finished by it
		answer, err := c.call(ctx, request{method: http.MethodGet, path: "/control/olderfiles"})
		if err != nil {
			return err
		}
		var held struct {
			Due int `json:"uncompacted"`
		}
		if err := errors.Join(json.Unmarshal(answer, &done), json.Unmarshal(answer, &held)); err != nil {
			return err
		}
		if answer, err = c.call(ctx, request{method: http.MethodPost, path: "/control/compact"}); err != nil {
			return err
		}
		if err := json.Unmarshal(answer, &done); err != nil {
			return err
		}
		if held.Due == 0 {
			done.Older = []string{} // nothing was erased that they hold still
		}
		if c.served || held.Due == 0 {
			return nil
		}
		return errors.Join(os.RemoveAll(filepath.Join(set.data, "index")), os.RemoveAll(filepath.Join(set.data, "index.broken")))
	})
	return done, err
}

// compactPause is how often a server looks whether its store is to be compacted.
const compactPause = 10 * time.Minute

// compactInTime compacts a served store within a day of an erasure; end ends looking.
func compactInTime(ctx context.Context, store *kv.Store, log *slog.Logger) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(compactPause)
		defer tick.Stop()
		for {
			wants, err := store.WantsCompacting()
			if err == nil && wants {
				_, err = store.Compact(ctx, kv.Operator())
			}
			if err != nil && ctx.Err() == nil {
				log.Warn("the store could not be compacted; it is tried again", slog.Any("cause", err))
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
