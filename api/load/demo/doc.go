// Package demo makes a fictional congregation to try things on. The same options on the same day make the same one.
package demo
