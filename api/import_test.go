package api

import "testing"

func TestParameters(t *testing.T) {
	for flags, want := range map[string]string{
		"Say --dry-run to see them all, --yes to add them": "Say dry_run=true to see them all, yes=true to add them",
		"say --map 'a=b' or --only-type 'VIP'":             "say map='a=b' or only_type='VIP'",
		"--dates dmy":                                      "dates=dmy",
		"--event: an id is wanted":                         "event: an id is wanted",
		"a -- b, x--y and --":                              "a -- b, x--y and --",
	} {
		if got := parameters(flags); got != want {
			t.Errorf("%q is %q, want %q", flags, got, want)
		}
	}
}
