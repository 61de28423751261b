package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// machineID is the only setting that is just a variable. It belongs to a machine, and no file or command line may carry it to another.
const machineID = "machine-id"

// machineFile holds an id that no two machines have in common, on systems that have one.
const machineFile = "/etc/machine-id"

// machine returns a hash of this machine's id; "" = unknown. DOORWARD_MACHINE_ID replaces the system's id if that changes although the machine
// does not, as in a container.
func (m *Main) machine() string {
	id := []byte(m.env(machineID))
	if len(id) == 0 {
		id, _ = os.ReadFile(machineFile) // without it the folder alone tells
	}
	if id = bytes.TrimSpace(id); len(id) == 0 {
		return ""
	}
	sum := sha256.Sum256(append([]byte("doorward machine "), id...))
	return hex.EncodeToString(sum[:16])
}

// notSettings matches variables with the prefix of settings that are none: those of this project's tests and benchmarks, and those that
// Kubernetes gives every container for a service with the name doorward.
var notSettings = []*regexp.Regexp{
	regexp.MustCompile(`^DOORWARD_(CHECK|CRASH|BENCH(_PROFILE)?|DISK|POWERCUT|PROOF|SEED|TORTURE_SECONDS|TEST_[A-Z_]+)=`),
	regexp.MustCompile(`^DOORWARD_(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?)=`),
	regexp.MustCompile(`^DOORWARD_PORT=(tcp|udp|sctp)://`),
}

// checkEnvironment refuses a variable without a flag in any command, because its setting would be ignored in silence. It ignores empty variables.
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

// nearest returns the settings that are most like a wrong name, as the end of a sentence; "" if none is like it. It compares the names without
// their prefix.
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
