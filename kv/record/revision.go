package record

// Revision names one state of a record: how many changes made it, and a hash over deleted, parent and canonical body.
// The zero Revision is the parent of a first one.
type Revision struct {
	Generation uint64
	Hash       [16]byte
}

// String is the revision as replicas write it: "3-" and 32 lower-case hex digits; "" for the zero Revision.
func (r Revision) String() string { panic("record") }

// ParseRevision reads what String wrote.
func ParseRevision(s string) (r Revision, ok bool) { panic("record") }

// Next is the revision that follows parent.
func Next(parent Revision, deleted bool, canonical []byte) Revision { panic("record") }

// DocID is the record's name in replication: kind, colon, 16 digits or an upper-case ULID.
func (k *Kind) DocID(id ID) string { panic("record") }
