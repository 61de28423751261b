// Package proof says how much a test does. A test asks it for a count, a seed or a folder, and reads no variable of its own.
//
// make test is quick: a test that draws does a sample, from another seed each time. make proof sets DOORWARD_PROOF=1: the same tests
// do their full counts. It finds them by the files that ask this package. make torture lets a few tests go on for hours.
//
//	DOORWARD_PROOF=1            full counts
//	DOORWARD_SEED=n             draws again what a test drew from the seed n; each test that draws prints its seed
//	DOORWARD_TORTURE_SECONDS=n  a test that breaks things goes on for n seconds with fresh seeds
//	DOORWARD_CHECK=1            a test fails where a program that it needs is missing, instead of being skipped
//	DOORWARD_DISK=folder        where the folders of Disk are, when TMPDIR is in memory
//
// This is the only place that reads these variables.
package proof
