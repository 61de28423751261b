// Package kinds knows which kinds of records a file may hold, and under which names a file gives their fields. A ticket is one
// thing in a file, and three records in the store.
package kinds
