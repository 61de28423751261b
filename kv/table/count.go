package table

import "doorward/kv/record"

// Live is how many live records of a kind there are.
func (s *Set) Live(k *record.Kind) int { return s.Current().Kind(k).All.Len() }
