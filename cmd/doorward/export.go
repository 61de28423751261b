package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

func (m *Main) exportCommand(set *settings) *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use: "export [FILE]", Short: "Write all records as NDJSON that import reads, to a file or standard output", Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().StringVar(&kind, "kind", "", "only records of this kind")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return m.on(cmd.Context(), opening{set, false}, func(c *control) error {
			write := func(w io.Writer) error { return export(cmd.Context(), c, kind, w) }
			if len(args) == 0 || args[0] == "-" {
				return write(m.Stdout)
			}
			return writeFile(args[0], write)
		})
	}
	return cmd
}

func export(ctx context.Context, c *control, kind string, w io.Writer) error {
	q := url.Values{}
	if kind != "" {
		q.Set("kind", kind)
	}
	resp, err := c.send(ctx, request{method: http.MethodGet, path: "/control/export", query: q})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	if _, err := io.Copy(w, resp.Body); err != nil {
		if ctx.Err() != nil {
			return errStopped
		}
		return err
	}
	if text := resp.Trailer.Get("X-Export-Error"); text != "" {
		return errors.New(lower(text))
	}
	return nil
}

// writeFile makes a file that is whole or not there: a temporary name, fsync, rename, fsync of the folder.
func writeFile(name string, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(name)
	tmp, err := os.CreateTemp(dir, ".doorward-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // the first error is the one to tell
		}
	}()
	if err = errors.Join(write(tmp), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), name); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
