package sync_test

import "regexp"

var (
	hashes    = regexp.MustCompile(`[0-9a-f]{32}`)
	epochs    = regexp.MustCompile(`-[0-9A-HJKMNP-TV-Z]{26}`)
	instances = regexp.MustCompile(`"instance_start_time":"[0-9]+"`)
)

func replaced(text string) string {
	text = hashes.ReplaceAllString(text, "R")
	text = epochs.ReplaceAllString(text, "-E")
	return instances.ReplaceAllString(text, `"instance_start_time":"T"`)
}
