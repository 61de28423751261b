// Package words is the vocabulary of lists that people keep, in Portuguese, English and Spanish: the titles of columns, the
// words for choices, for yes and no, and for the state of a ticket. It is pure. Each word stands in one table.
//
// Words are compared in their plain form (Plain): lower case, without accents, one space for anything between two words.
package words
