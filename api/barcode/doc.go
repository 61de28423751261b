// Package barcode reads QR codes, Data Matrix, Code 128 and EAN from pictures. It knows no tickets and no HTTP.
//
// A picture passes these steps:
//
//	bytes → size of the picture, refused before it costs memory → luminance, at most 1,280 points a side
//	  → ladder of attempts: as it is, inverted, smoothed, halved, doubled
//	      each made black and white in two or three ways
//	        → finder rings → the library's reader, then a fit of the rings' twelve corners
//
// The first attempt that reads something ends the ladder. Reed-Solomon codes and checksums guard against wrong reads; a code of bars,
// which has a weak checksum, must be read twice alike.
//
// What a hostile picture may cost is bounded: its size is judged from its header, the ladder ends after a fixed time, and few pictures
// are read at once. A panic in the library ends the attempt, not the program.
package barcode
