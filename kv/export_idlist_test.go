package kv

import (
	"doorward/kv/record"
	"doorward/kv/table"
)

// IDList is an idList with numbers for ids.
type IDList struct{ l *table.IdList }

// Edit answers a copy that an edit may change.
func (s IDList) Edit(n uint64) IDList { return IDList{s.l.Own(n)} }

func (s IDList) Insert(n int64) { s.l.Insert(record.Int(n)) }

func (s IDList) Remove(n int64) { s.l.Remove(record.Int(n)) }

func (s IDList) Rank(n int64) int { return s.l.Rank(record.Int(n)) }

func (s IDList) Contains(n int64) bool { return s.l.Contains(record.Int(n)) }

func (s IDList) At(i int) int64 { return s.l.At(i).Int() }

func (s IDList) Len() int { return s.l.Len() }

func (s IDList) Page(offset, limit int) (ns []int64) {
	for _, id := range s.l.Page(nil, offset, limit) {
		ns = append(ns, id.Int())
	}
	return ns
}
