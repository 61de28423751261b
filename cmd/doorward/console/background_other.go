//go:build !unix

package console

// KeepInBackground does nothing: there a shell does not stop a program that reads from a terminal.
func KeepInBackground() {}
