//go:build !linux

package main

// idly runs start. Other systems have no class for what nobody waits for.
func idly(start func() error) error { return start() }
