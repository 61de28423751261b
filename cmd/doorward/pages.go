package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// listAll reads a list of the admin surface page by page.
func listAll[T any](ctx context.Context, c *control, path string) ([]T, error) {
	all := []T{}
	for {
		q := url.Values{"limit": {"100"}, "offset": {strconv.Itoa(len(all))}}
		answer, err := c.call(ctx, request{method: http.MethodGet, path: path, query: q})
		if err != nil {
			return nil, err
		}
		var page struct {
			Count   int
			Results []T
		}
		if err := json.Unmarshal(answer, &page); err != nil {
			return nil, fmt.Errorf("the server's answer: %w", err)
		}
		if all = append(all, page.Results...); len(page.Results) == 0 || len(all) >= page.Count {
			return all, nil
		}
	}
}
