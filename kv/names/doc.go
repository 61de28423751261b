// Package names says how the names of people are compared and shown. It is pure text: it knows no record.
//
//	                     João D'Ávila Jr.
//	Fold                 joao d'avila jr.
//	Words                joao, davila, junior      what ranked searches compare
//	WrittenWords         joao, d'avila, jr         what fuzzy searches compare
//	Label                João J.                   what a door may show
//
// Fold makes two spellings of one text equal: without marks, in lower case, every apostrophe and hyphen as one, runs of white space as
// one space. Sound is a key of a word: words that sound alike in Brazilian Portuguese have equal keys.
//
// PhoneTail is what a door may show of a phone. CPF and IsCPF read a number of Brazil's register of persons.
package names
