// Package handshake holds what a laptop and its centre say to each other, as JSON. Both sides use the same types.
//
//	laptop                                   centre
//	EnrolRequest   POST /sync/_enrol     →   EnrolAnswer    once: a code becomes a key
//	Hello          POST /sync/_hello     →   Greeting       at each contact: clocks, databases, ids, keys, erasures, drops
//	               GET  /sync/_hello     →   KeyMark        waits until other keys are valid at the laptop
//	ErasureReport  POST /sync/_erased    →   {"ok":true}    a restored centre learns again what was erased
//
// Members that a side does not know are ignored, so versions may differ.
package handshake
