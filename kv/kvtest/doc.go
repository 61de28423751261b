// Package kvtest opens a real store in a test's temporary folder and fills it by the store's own means.
//
// What tests share is in these places. A test in none of them has its helpers beside it.
//
//	kv/kvtest            Open, OpenConfig: a store. Create, Parse, Fill: records. Login, Key: keys. NewClock: a clock that a test moves.
//	                     Age, Advance, Foreign: files of another format. Damage: a damaged record. OpenRaw: a bare bbolt file. Lower: a text in small letters.
//	                     Decided: what an answer says of a code. Metric, Metrics: what a registry says. Changes, ChangesOf: the log.
//	kv/kvtest/proof      Count, Draws, Only, Unraced: how much a test does. Seed: what it draws from. Memory, Disk: a folder. Missing: what it lacks. Hangup: a signal.
//	kv/kvtest/disk       a file system with writes and syncs that a test sees, delays and fails, and the images that a power cut leaves.
//	kv/crash             the points at which a built program dies.
//	kv                   help_test.go: a congregation and its keys. model_test.go: what may be seen, as plain maps. export_*_test.go: what is not exported.
//	kv/record            helper_test.go: records. gen_test.go: drawn records.
//	index                help_test.go: a store with its index.
//	api                  site_test.go: a server and a client held against the OpenAPI document. wire_test.go: a client without that.
//	                     world_test.go: a small congregation. scope_*_test.go: a drawn one. machine_*_test.go: a model of requests and answers.
//	api/pull             world_test.go: a centre to pull from.
//	sync                 site_test.go: a server. peers_test.go: CouchDB, PouchDB and laptops. sim*_test.go: computers, network, clocks and steps of the simulation.
//	cmd/doorward         program_test.go: the built program. ways_test.go: the files that requests pass. script*_test.go: the words of the scripts. browser_linux_test.go: a phone.
//	                     crash_*, kill_*, powercut_*, hostile_*_test.go: worlds, clients and judges of the tests that break the program.
package kvtest
