// Package kinds knows which kinds of records a file may hold, and under which names a file gives their fields.
//
// Form is one kind in a file: its table (kv/record), the fields that a file may set, and those that a table must have a column for. A ticket is one thing in
// a file, and three records in the store, so its form has the fields of all three. Names and fields come from kv/record: only what differs
// in a file stands here. The package reads no cell.
package kinds
