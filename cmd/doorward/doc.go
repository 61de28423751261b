// Command doorward is the congregation server: one program with its command line. It decides nothing: this package has the flags of each
// command and prints the answers; the packages below it do the work.
//
//	console      standard input and output, the log, progress, questions
//	folder       the folder of a congregation, as a command finds it
//	control      the line to a store's control handler: through serve's socket, or in this process
//	serve        the server; certificate is its pair of TLS files
//	archive      backup, restore, verify
//	transfer     replicate: databases between two places
//	importer     the plan and the report of an import
//	screen       the overview of status
//
// Every command but serve and version is one request to api's control handler, as the operator of this machine. Beside the store serve keeps
// the search index, in DIR/index; of the other commands only reindex opens it. Settings come from flags, then from the environment
// (DOORWARD_LISTEN), then from the file of --config (listen = "…"). Exit codes: 0 done; 1 failed, or done with rows refused or damage found;
// 2 wrong usage.
//
// A command that would make the folder's store is first tried on one elsewhere, so that a wrong one leaves nothing behind.
package main
