// Package venue keeps a laptop's store in step with its centre. Join enrols the store once; Venue.Run then follows the centre for as long as the program runs.
//
// It promises that everything made at the laptop is kept there until the centre has acknowledged it, that a change is on the other side within half a second
// while the link holds, and that a laptop without a link goes on working and tries again.
//
//	Run ── visit ── handshake   clocks, ids, keys, erasures, which databases (package handshake)
//	 ↑        ├── drop          databases of events that are over or have left
//	 │        ├── resync        if the centre's epoch has changed: everything, from the beginning
//	 │        └── copies        per database a push and a pull (package replicate), live, until the link breaks (lag: how far they have come)
//	 └── pause: half a second up to 15 seconds; less than a second during an event; none where the centre has more, three times in a row
//
// A revoked laptop pushes its facts and nothing else. It wipes its folder only if the centre orders it, over https, and has acknowledged the last fact.
//
// # What leaves the file
//
// Nothing is deleted: the centre keeps the records, and the laptop takes them out of its file once the centre has every change that was made here.
//
//	copies.left       a record that has left a database and is in none of the laptop's others at the centre     Laptop.Leave
//	dropper.drop      the databases of an event, see below                                                      Laptop.Release
//	visit.release     names and private halves that the laptop brings and may not read                          Laptop.Release
//
// # Dropping an event
//
// The centre asks a laptop to drop the databases of an event: when it was enrolled for another event (at once), when the event has left its churches, or when
// the event is over. In the last two cases the laptop decides, because one wrong edit or one wrong clock must not empty a door. Until then the centre gets
// what the laptop makes. An event stays
//
//	for 12 hours       after the last scan
//
// and one that is over also
//
//	while              this machine's clock is doubted, or differs from the centre's by more than two minutes
//	until              it has been over for long enough, by both clocks and by what both say of its end
//	for a day          after it was announced: in the log, in the metrics, in the handshake
package venue
