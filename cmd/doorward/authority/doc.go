// Package authority is the certificate authority of one folder, by which phones without internet reach the server over https.
//
// The file authority.pem in the folder holds the authority's certificate and its key, and only its owner reads it. Name constraints of the
// certificate, marked critical, limit it to the names of the venue and to private addresses: what it signs for any other name is worth
// nothing to a phone that trusts it. It signs servers alone, and no further authority.
//
//	authority.pem    CERTIFICATE      ten years, from a year ago; NAME.local, localhost, private addresses
//	                 PRIVATE KEY      P-256
//	in memory alone  Leaf             120 days, from 30 days ago; the names, and the private addresses that the machine has now
//
// The clocks of a phone and of the laptop may differ by 30 days. Leaf makes a new certificate after 60 days, when the addresses of the
// machine change, or when its clock was set back.
package authority
