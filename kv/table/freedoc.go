package table

import (
	"encoding/binary"

	"doorward/kv/rev"
)

// RevsLimit is how many revisions from every leaf a free document's tree knows; of the last freeBodies it keeps the bodies, and
// those of all leaves.
const RevsLimit = 50

func AppendRevision(dst []byte, rev rev.ID) []byte {
	return rev.AppendHash(binary.BigEndian.AppendUint64(dst, rev.Generation))
}
