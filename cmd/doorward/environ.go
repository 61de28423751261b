package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// machineID is the one setting that is a variable alone: it belongs to a machine, and no file or command line may carry it to another.
const machineID = "machine-id"

// notSettings are variables that begin as settings do and are none: those of this project's own tests and benchmarks, and those that
// Kubernetes gives every container for a service of the name doorward.
var notSettings = []*regexp.Regexp{
	regexp.MustCompile(`^DOORWARD_(CHECK|CRASH|BENCH(_PROFILE)?|DISK|POWERCUT|PROOF|SEED|TORTURE_SECONDS|TEST_[A-Z_]+)=`),
	regexp.MustCompile(`^DOORWARD_(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?)=`),
	regexp.MustCompile(`^DOORWARD_PORT=(tcp|udp|sctp)://`),
}

// checkEnvironment refuses a variable that no command has a flag for: its setting would be passed over in silence. An empty variable counts
// as none.
func (m *Main) checkEnvironment(root *cobra.Command) error {
	if m.Environ == nil {
		return nil
	}
	known := map[string]*pflag.Flag{}
	collectFlags(root, known)
	names := []string{variable(machineID)}
	for flag := range known {
		names = append(names, variable(flag))
	}
	for _, v := range m.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if !isSetting(v) || value == "" || slices.Contains(names, name) {
			continue
		}
		if !slices.ContainsFunc(notSettings, func(r *regexp.Regexp) bool { return r.MatchString(v) }) {
			return fmt.Errorf("%s: there is no such setting%s", name, nearest(settingPrefix, name, names))
		}
	}
	return nil
}

// nearest names the settings that a wrong name is most like, as the end of a sentence; "" where it is like none. All begin with a prefix, which
// makes no name like another.
func nearest(prefix, name string, names []string) string {
	const furthest = 4 // more edits than that make another name
	c := &cobra.Command{}
	name = strings.TrimPrefix(name, prefix)
	for _, n := range names {
		c.AddCommand(&cobra.Command{Use: strings.TrimPrefix(n, prefix), Run: func(*cobra.Command, []string) {}})
	}
	for c.SuggestionsMinimumDistance = 1; c.SuggestionsMinimumDistance <= min(furthest, len(name)/3+1); c.SuggestionsMinimumDistance++ {
		if near := c.SuggestionsFor(name); len(near) > 0 {
			return "; the nearest is " + prefix + strings.Join(near, ", "+prefix)
		}
	}
	return ""
}
