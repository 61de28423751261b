package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
)

// What the linker sets (see the Makefile); empty in a plain go build.
var version, built string

// versionText is the program's version.
func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// versionLine tells which program this is.
func versionLine() string {
	return fmt.Sprintf("doorward %s (%s, %s/%s)", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// buildTime is when the program was built; zero = unknown. A clock before it cannot be right.
func buildTime() time.Time {
	text := built
	if info, ok := debug.ReadBuildInfo(); ok && text == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.time" {
				text = s.Value
			}
		}
	}
	t, _ := time.Parse(time.RFC3339, text) // zero where it is none
	return t
}

func versionCommand(t *tool) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs, Annotations: map[string]string{noStore: "true"},
		Run: func(*cobra.Command, []string) {
			fmt.Fprintln(t.Out, versionLine())
		},
	}
}
