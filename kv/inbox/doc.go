// Package inbox keeps what staff has to decide: conflicts that the merge could not settle, and writes of laptops that were refused. A
// Box shows them within a principal's scope and applies a choice.
package inbox
