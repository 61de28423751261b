// Package transfer copies databases between two places, each a folder, an address of a server, or a file of changes. A folder is reached
// as its own server is: through serve's socket, or over the store that is opened in this process.
package transfer
