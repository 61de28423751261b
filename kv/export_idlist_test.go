package kv

import "doorward/kv/record"

// IDList is an idList with numbers for ids.
type IDList struct{ l *idList }

// Edit answers a copy that an edit may change.
func (s IDList) Edit(n uint64) IDList { return IDList{s.l.own(n)} }

func (s IDList) Insert(n int64) { s.l.insert(record.Int(n)) }

func (s IDList) Remove(n int64) { s.l.remove(record.Int(n)) }

func (s IDList) Rank(n int64) int { return s.l.rank(record.Int(n)) }

func (s IDList) Contains(n int64) bool { return s.l.contains(record.Int(n)) }

func (s IDList) At(i int) int64 { return s.l.at(i).Int() }

func (s IDList) Len() int { return s.l.len() }

func (s IDList) Page(offset, limit int) (ns []int64) {
	for _, id := range s.l.page(nil, offset, limit) {
		ns = append(ns, id.Int())
	}
	return ns
}
