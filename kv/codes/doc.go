// Package codes reads and makes the codes of tickets. It is pure text: which ticket has a code, and the hash under which a store keeps
// it, are the store's to say.
//
//	scanned                          Exact                            Normal
//	"https://e.org/t/k7qp-2m/"       the text, "k7qp-2m"              HTTPS://E.ORG/T/K7QP2M/, K7QP2M
//
// Forms are tried in their order: exact ones first, then normal ones. A code that we make has 16 characters of Crockford's alphabet,
// out of 80 random bits.
package codes
