package load

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"doorward/api/load/kinds"
	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/value"
)

// seen remembers what names a record in the rows of a file, so that two rows of one record are found before either is
// written: the store would take the second for a change of the first. It keeps 128-bit hashes, not the values.
type seen struct {
	seeds [2]maphash.Seed
	lines map[[2]uint64]int32

	mu   sync.Mutex // ids are asked for while further rows are read
	ids  map[string]map[record.ID]bool
	keep bool // ids are wanted: a dry run forgives references to rows of the same file

	weak     int // codes of under 60 bits
	nameless int // rows that nothing names when they come a second time
}

func newSeen(dryRun bool) *seen {
	return &seen{
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		lines: map[[2]uint64]int32{}, ids: map[string]map[record.ID]bool{}, keep: dryRun,
	}
}

// before answers the line in which a row's record stood already and the field that shows it; 0 where it is new.
func (s *seen) before(it *item) (field string, line int) {
	p := it.row.Patch
	event, _ := p.Value(kinds.Event)
	external := text(p, kinds.ExternalID)
	code := ""
	if it.form.Kind == record.Ticket {
		code = text(p, kinds.Code)
	}
	var keys []rowKey
	if !it.row.ID.IsZero() {
		keys = append(keys, rowKey{kinds.ID, s.hash(it.form.Kind.Name, kinds.ID, it.form.Kind.FormatID(it.row.ID))})
	}
	if external != "" {
		keys = append(keys, rowKey{kinds.ExternalID, s.hash(it.form.Kind.Name, kinds.ExternalID, string(event)+"\x00"+external)})
	}
	if code != "" {
		keys = append(keys, rowKey{kinds.Code, s.hash(it.form.Kind.Name, kinds.Code, string(event)+"\x00"+code)})
	}
	if cpf := text(p, kinds.CPF); it.form.Kind == record.Person && names.IsCPF(cpf) {
		keys = append(keys, rowKey{kinds.CPF, s.hash(it.form.Kind.Name, kinds.CPF, cpf)})
	}
	for _, k := range keys {
		if n, ok := s.lines[k.sum]; ok {
			return k.field, int(n)
		}
	}
	for _, k := range keys {
		s.lines[k.sum] = int32(min(it.line, math.MaxInt32))
	}
	s.note(it, code, len(keys))
	return "", 0
}

// rowKey is a field that names a row's record, and a hash of the name.
type rowKey struct {
	field string
	sum   [2]uint64
}

func (s *seen) note(it *item, code string, keys int) {
	if code != "" && bits(code) < 60 {
		s.weak++
	}
	if keys == 0 && it.form.Kind != record.Membership { // known by its group and person
		s.nameless++
	}
	if s.keep && !it.row.ID.IsZero() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ids[it.form.Kind.Name] == nil {
			s.ids[it.form.Kind.Name] = map[record.ID]bool{}
		}
		s.ids[it.form.Kind.Name][it.row.ID] = true
	}
}

// hasID tells whether a row of this file bears an id.
func (s *seen) hasID(kind string, id record.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ids[kind][id]
}

func (s *seen) hash(kind, field, value string) (sum [2]uint64) {
	text := kind + "\x00" + field + "\x00" + value
	for i, seed := range s.seeds {
		sum[i] = maphash.String(seed, text)
	}
	return sum
}

// text is a patch's string decoded; "" for null or none.
func text(p *record.Patch, name string) string {
	v, ok := p.Value(name)
	if !ok || len(v) < 2 || v[0] != '"' {
		return ""
	}
	if body := string(v[1 : len(v)-1]); !strings.Contains(body, `\`) {
		return body
	}
	return string(v) // only compared with its like
}

// bits is how much chance a code of these kinds of characters can hold at most.
func bits(code string) float64 {
	digits, letters, lower, n := 0.0, 0.0, 0.0, 0
	for _, r := range code {
		switch {
		case unicode.IsDigit(r):
			digits = 10
		case unicode.IsLower(r):
			lower = 26
		case unicode.IsLetter(r):
			letters = 26
		default:
			continue
		}
		n++
	}
	return float64(n) * math.Log2(max(1, digits+letters+lower))
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// warnings are what the importer should know of the file as a whole.
func (s *seen) warnings() []string {
	var out []string
	if s.weak > 0 {
		out = append(out, counted(s.weak, "code is", "codes are")+" short enough to be guessed (under 60 bits)")
	}
	if s.nameless > 0 {
		out = append(out, counted(s.nameless, "row has", "rows have")+" no external_id, id or code: importing again would add again")
	}
	return out
}

// contents names rows that nothing names by what they hold, so that the same file again finds its records. Of rows that
// hold the same, the first, second … are told apart: they are two records, and stay two.
type contents map[[16]byte]int32

// name gives a row without id and external_id one made of its content. Tickets have a code, memberships a person and a group,
// and some people a CPF, to be known by.
func (c contents) name(it *item) {
	k, p := it.form.Kind, it.row.Patch
	_, external := k.Field(kinds.ExternalID)
	if names.IsCPF(text(p, kinds.CPF)) || k == record.Ticket || k == record.Membership || !external || !it.row.ID.IsZero() || text(p, kinds.ExternalID) != "" {
		return
	}
	h := sha256.New()
	write := func(s string) {
		_, _ = h.Write([]byte(s)) // never fails
	}
	write(k.Name + "\n")
	for i := range it.form.Table.Fields {
		name := it.form.Table.Fields[i].Name
		if v, ok := p.Value(name); ok && v.Kind() != 'n' {
			write(name + "=" + string(v) + "\n") // JSON holds no line end of its own
		}
	}
	key := [16]byte(h.Sum(nil))
	c[key]++
	write(strconv.Itoa(int(c[key])))
	p.Set(kinds.ExternalID, value.Quote("file:"+hex.EncodeToString(h.Sum(nil)[:16])))
}
