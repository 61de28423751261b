// Package feed reads the log of all changes, for followers inside this program: the search index, exports and waiting requests. A
// sequence is valid within one epoch; Since tells a follower that it has to begin again.
package feed
