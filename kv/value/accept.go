package value

import (
	"mime"
	"strconv"
	"strings"
)

// AcceptsGzip reports whether a client takes gzip, by the lines of its Accept-Encoding: it names gzip, with no quality or with one above zero.
func AcceptsGzip(lines []string) bool {
	for part := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		name, parameters, err := mime.ParseMediaType(part)
		if name != "gzip" {
			continue
		}
		quality, given := parameters["q"]
		q, wrong := strconv.ParseFloat(quality, 64)
		return err == nil && (!given || wrong == nil && q > 0)
	}
	return false
}
