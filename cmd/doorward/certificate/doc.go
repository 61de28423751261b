// Package certificate is the pair of PEM files by which serve speaks https.
//
// Files are the two names and the pair that was read last. Load reads them once and refuses a pair that does not fit; Watch reads them again
// and again. A new pair is used for new connections, and open connections go on. If the files are no pair any more, the old pair stays, and
// the log has one line about it. Gauge is the time at which the certificate ends, for an alert. The package makes no certificate: another
// program does, or package authority.
package certificate
