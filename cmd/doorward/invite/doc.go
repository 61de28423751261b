// Package invite makes addresses that open a page of the server on phones, and shows them in a terminal: as a QR code, and as text to type.
//
// Site is where the server is reached, and Door the ticket by which one phone signs in at a door; the control handler answers both. A server
// may be reached by a public URL, by the machine's name in its network, or by an address of each network: the first that holds is drawn, the
// others are listed. The package makes no ticket and no key: api does.
package invite
