package api

import "strings"

// hostless tells whether a path answers to any Host: monitors reach it by any name.
func hostless(prefix, path string) bool {
	path, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return false
	}
	switch strings.TrimSuffix(path, "/") {
	case "/healthz", "/readyz", "/metrics":
		return true
	}
	return false
}
