// Package upkeep counts what an operator wants to know of a running store. It changes no record of the congregation.
//
//	Figures                                  read from
//	RecordCounts, TicketStates               the lists in memory, and the tickets page by page
//	Reads                                    the rows that the tables write once a minute
//	LastBackup, LastRestore, LastVerify      the rows and files that each backup, restore and check leaves
//	Gauge                                    all of these as metrics, read when they are scraped
//
// A caller needs denomination level; a key's reads are shown within the level of the caller. NoteVerify and the function LastVerify need no
// open store: a check runs in a process of its own. The package decides nothing: api/overview says which figure needs a person.
package upkeep
