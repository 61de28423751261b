// Package overview tells an operator the state of a store, and what a person has to do.
//
//	overview.go   the wire form, and how it is read from the store
//	needs.go      what a person has to do, found by the overview alone; the same about the laptops of a centre
//	tongue.go     the words that its sentences share, in the reader's language
//	tongue.*.json what it says in another language than English
//
// A part of the store that is damaged stays empty in the overview: the rest is told.
package overview
