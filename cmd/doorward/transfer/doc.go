// Package transfer copies databases between two places, each a folder, an address of a server, or a file of changes. A folder is reached
// as its own server is: through serve's socket, or over the store that is opened in this process.
//
// Run opens both places, finds the databases to copy, and runs one replication for each (sync/replicate). Report has what was copied and what
// the target refused, by database. A folder without records joins the realm of its source before the first record comes. The package
// chooses no revision and resolves nothing: the target's store does. A file of records that goes to a laptop is given to it as a whole, and the
// laptop takes of it what it takes along (stick.go).
package transfer
