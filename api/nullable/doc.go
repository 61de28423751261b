// Package nullable shows an absent value as null in an answer.
package nullable
