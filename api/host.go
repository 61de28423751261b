package api

import "strings"

// hostless tells the paths that monitors reach by whatever name they know.
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
