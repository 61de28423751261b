package table

// Sequence is that of the latest change which a sight shows.
func Sequence(v *View) (uint64, error) {
	row, err := v.Get(MetaBucket, StateKey)
	if err != nil {
		return 0, err
	}
	st, err := DecodeState(row)
	return st.Seq, err
}
