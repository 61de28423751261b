// Package certificate is the pair of PEM files by which serve speaks https. The files are read again and again. A new pair is used
// for new connections, and open connections go on. Files that are no pair change nothing, and the log has one line about them.
package certificate
