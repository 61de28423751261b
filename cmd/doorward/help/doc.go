// Package help holds the manual: one Markdown file a topic, embedded in the program.
//
// A page is plain text that a terminal can show:
//
//	# import: read lists from ticket shops     the title: the topic, a colon, what the page is about
//	## A section
//	```sh                                      commands; they run in the order of the page, in one folder
//	```sh server                               a command that runs until it is ended, in a terminal of its own
//	```sh skip: REASON                         commands that no test can run, and why
//	```python                                  a program in Python, saved in a file and run there
//	```output                                  what the commands above print; … stands for anything
//	```nginx, ```csv, ```json, ```text         what is no command
//
// Printed blocks are indented by four spaces, except those of Python: what stands in the others must bear that. A mark needs:PROGRAM names a
// program of another project.
// The tests of cmd/doorward run every block of commands, and those of README.md.
package help
