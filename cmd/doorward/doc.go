// Command doorward is the congregation server: one program with its command line. It decides nothing: this package has the flags of each
// command and prints the answers; the packages below it do the work.
//
//	console      standard input and output, the log, progress, questions
//	folder       the folder of a congregation, as a command finds it
//	control      the line to a store's control handler: through serve's socket, or in this process
//	serve        the server: its listeners, its end, a restore while it runs
//	certificate  a pair of TLS files · authority: a certificate authority of the folder's own · announce: the machine's name in its network
//	invite       addresses and QR codes that open a page of the server on phones
//	archive      backup, restore, verify
//	transfer     replicate: databases between two places
//	importer     the plan and the report of an import
//	rehearsal    an event tried on a copy
//	screen       the overview of status
//	help         the manual
//
// main.go runs a command and turns its error into an exit code; root.go lists the commands; config.go reads settings: from flags, then from
// the environment (DOORWARD_LISTEN), then from the file of --config (listen = "…"). A command is a function with its flags, the request
// that it makes, and what it prints; commands that are read together share a file. A new command is such a function, and a name in root.
//
// Every command but serve and version is one request to api's control handler, as the operator of this machine. So it does the same
// whether serve runs on the folder or not. Beside the store serve keeps the search index, in DIR/index; of the other commands only reindex
// opens it. Exit codes: 0 done; 1 failed, or done with rows refused or damage found; 2 wrong usage.
//
// A command that has made the folder's store and then fails removes it again while it is empty, so that a wrong one leaves nothing behind.
package main
