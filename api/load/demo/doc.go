// Package demo makes a fictional congregation to try things on. The same options on the same day make the same one.
//
// Make fills an empty store with churches, people, groups, money and two events with tickets, and reports codes to try. It draws every
// record from the seed and gives it to load.Filler, which writes it as an import would. It never writes to a store with records.
package demo
