// Package archive backs a store up, restores a backup, and verifies a store, whether serve runs on the folder or not.
//
// A backup is a copy within the store's folder, so that no writer waits for a slow disk. A child process checks the copy, then it is put
// in its place (package kv/backup). A restore copies the backup into a work folder, checks it, begins a new epoch in it, and puts it in
// the place of the store: through one request where serve runs, else by itself. A check reads the file in a child process, since a damaged
// file can end its reader.
package archive
