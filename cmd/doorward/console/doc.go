// Package console is what a command reads and writes: standard input, output and error, the log, a progress line on a terminal, questions to
// the operator, and numbers and commands as text.
//
// Console has the three streams, prints (Printf, JSON, Warn) and asks (Ask); each command has one. Output is a stream that people read: no
// text of a stranger does anything to the terminal, and a command fails if its output is lost. Progress is one line on a terminal that is written again and again. UsageError, ErrStopped and
// ErrSaid say how a command ended; main makes the exit code of them. The package knows no store.
package console
