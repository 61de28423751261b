// Package repeat looks at something again and again while a server runs, in a goroutine that its caller ends and waits for.
package repeat
