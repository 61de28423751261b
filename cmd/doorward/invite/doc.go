// Package invite makes addresses that open a page of the server on phones, and shows them in a terminal: as a QR code, and as text to type.
package invite
