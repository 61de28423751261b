// Package nullable shows an absent value as null in an answer: an empty text, a zero time, an id of 0. Each function returns what a struct of
// an answer holds. An absent value that an answer leaves out is not its concern.
package nullable
