// Package upkeep counts what an operator wants to know: records by kind, who read how much, when keys end, the last backup and the last
// check of the file.
package upkeep
