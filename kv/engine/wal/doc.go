// Package wal is a write-ahead log: numbered records, each durable with one small sequential write, in segments that are written over
// before they are used and used again. It knows nothing of what a record says.
//
// # Format
//
// A log is a folder of segments. The names of the files mean nothing; a segment's header says which log it belongs to and where in it:
//
//	header, 64 bytes in the file's first sector, the rest of the sector is zeros
//	  "doorwlog" 8 │ log id 16 │ index 8 │ term 8 │ first sequence 8 │ chain 4 │ file size 8 │ CRC32C 4
//
//	records from byte 512 on, each begins at a multiple of 8
//	  CRC32C 4 │ length 4 │ chain 4 │ kind 4 │ term 8 │ sequence 8 │ payload, length bytes
//
// All numbers are big-endian. A record's checksum covers the log's id, the other fields and the payload. Its chain is the checksum of the
// record before it, so a record can follow one other record alone. A segment's header has the sequence and the chain of its first record.
// Kind 1 is a record of a caller, with the next sequence. Kind 2 ends a log: it has the sequence of the last record, and no payload.
//
//	segment 7                                     segment 8, used for the second time
//	┌──────┬─────┬─────┬─────┬───────────┐        ┌──────┬─────┬────────────────────┐
//	│header│ 101 │ 102 │ 103 │ zeros     │        │header│ 104 │ old bytes: 57, 58, │
//	│101, c│     │     │     │           │        │104, c│     │ the half of 59     │
//	└──────┴─────┴─────┴─────┴───────────┘        └──────┴─────┴────────────────────┘
//
// # Writing
//
// Append writes one record and syncs the file; the bytes lie where there were bytes already, so no size and no block of the file changes.
// A segment that has no room for the record is followed by a spare one, or a new one. The new header is durable before the first record
// is written behind it. A segment of which no record is needed any more (Release) becomes a spare one. The first write or sync that fails
// ends the log for its writer. To make the next segment, or to open it, is none: where that fails (Reserve) it is tried again.
//
// # Erasing
//
// So that the bytes of some records are in no file any more, Cut begins a segment, Release lets go of those before it, and Erase writes zeros over them. From
// Cut to the end of Erase no segment is begun that has old bytes: one that is written to is not erased.
//
// # Reading
//
// A record is good if its checksum and chain fit and its sequence is the next. Reading ends at the first bytes that are no good record. A power
// cut can only have torn the last record, of which no caller was told: it is dropped. So nothing good may follow. If a later record is
// there, in the same segment or in another, the log is damaged (*Damaged) and no record is given out beyond that place. Old bytes of a segment
// that is used again do not count: their sequences are smaller.
//
// After a crash Resume writes the last record once more before the next one: a sync may have failed before the crash, and then
// the system takes bytes for durable that are not.
package wal
