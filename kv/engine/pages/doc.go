// Package pages reads the pages of a bbolt file without bbolt, which trusts what it reads: a damaged page may lead it in circles or out of the file.
//
// ReadHead reads what counts of the two heads. A Walk looks at what the head leads to: Branches before bbolt opens the file, Leaves beside what is read
// then, or All of a file that cannot be opened. It takes no lock, writes nothing and knows no record.
package pages
