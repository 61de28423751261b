package table

import "doorward/kv/engine"

// Walk is scan, or scan the other way.
func (v *View) Walk(b engine.Bucket, down bool, prefix, from []byte, fn func(key, value []byte) (bool, error)) error {
	if !down {
		return v.Scan(b, prefix, from, fn)
	}
	return v.ScanDown(b, prefix, from, fn)
}

func OrCorrupt(err error) error {
	if err == nil {
		return engine.ErrCorrupt
	}
	return err
}
