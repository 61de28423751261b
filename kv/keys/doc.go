// Package keys keeps the api keys and the sessions of peers: it makes and revokes keys, and turns a key and its secret into a
// Principal. A Ring holds the keys that work in memory, so a request needs no read of the file to be let in.
package keys
