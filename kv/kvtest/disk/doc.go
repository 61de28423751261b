// Package disk is a disk of which the power can be cut.
//
// A Disk is a tree of files in memory that notes, in order, everything that is done to it: what is written, cut, named and
// synced. Mount puts it below a folder, so that a real program works on it and knows nothing. From what was noted a Medium tells,
// for any moment, what the platters may hold if the power goes then, and draws Images of it: plain files that can be opened.
//
// # What a power cut leaves
//
// What was written or cut before a sync of its file that succeeded is there. Of everything later any part may be there, in
// whatever order: a write is torn at sectors of 512 bytes, and those that did not arrive hold what was there before, or zeros.
//
// A name is there once its folder was synced; that its file was synced does not help it. Of names that were made, moved and
// removed since, any may have arrived, in order as of a journal or not. A rename is atomic: the old name goes when the new one comes.
//
// After a sync that failed the system takes the pages for clean: what it should have saved may be there or not, and no later
// sync saves it.
//
//	write a ─ write b ─ sync ─ write c ─ name n ─ sync fails ─ write d ─ sync ─ write e ─ ⚡
//	└──── there ──────┘        └──────── perhaps ──────────┘   └ there ──────┘  └ perhaps
package disk
