package control

import (
	"context"
	"net/url"
	"strconv"
)

// page is one page of a list.
type page[T any] struct {
	Count   int
	Results []T
}

// List reads a list of the admin surface page by page.
func List[T any](ctx context.Context, l *Line, path string) ([]T, error) {
	all := []T{}
	for {
		q := url.Values{"limit": {"100"}, "offset": {strconv.Itoa(len(all))}}
		page, err := Ask[page[T]](ctx, l, Get(path, q))
		if err != nil {
			return nil, err
		}
		if all = append(all, page.Results...); len(page.Results) == 0 || len(all) >= page.Count {
			return all, nil
		}
	}
}
