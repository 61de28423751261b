// Package console is what a command reads and writes: standard input, output and error, the log, a progress line on a terminal,
// questions to the operator, and numbers and commands as text.
package console
