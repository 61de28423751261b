// Package search tells which records match what was typed, and how well. It is pure: it reads a stored body without decoding it, and
// keeps no index.
//
// Terms are the search of the contract (contract.md §6): every word or "quoted phrase" must occur in one of a kind's searched fields.
// Terms.Fuzzy also forgives one edit in each word of a name.
//
// Ranked is a search for people at work: the words of a name in any order, whole, begun, mistyped, spelled by ear, parted or joined,
// the last digits of a phone, a whole number, or the beginning of an address. Ranked.Cost is one number; the least is the best:
//
//	words that only sound alike → found by address → two edits → one edit → joined or parted → begun → first word differs → particles
//
// Each word that was typed answers another word of the name, so that the sum of the costs is least: assignment by the Hungarian method.
package search
