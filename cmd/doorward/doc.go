// Command doorward is the congregation server: one program with its command line. It decides nothing about congregations; it
// opens, joins and closes the rooms that do.
//
// Every command but serve and version is one request to api's control handler, as the operator of this machine:
//
//	serve runs on the folder:  command → DIR/control.sock (a Unix socket, mode 0600, in a folder of mode 0700) → serve's store
//	otherwise:                 command → the same handler in the same process → the store, which the command opens
//
// so a command does the same whether the server runs or not, and a lock never shows. Beside the store serve keeps the search
// index, in DIR/index; of the other commands only reindex opens it. Settings come from flags, then from the
// environment (DOORWARD_LISTEN), then from the file of --config (listen = "…"). Exit codes: 0 done; 1 failed, or done with
// rows refused or damage found; 2 wrong usage.
//
// A command that would make the folder's store is first tried on one elsewhere, so that a wrong one leaves nothing behind.
package main
