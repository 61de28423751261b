package load

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"doorward/api/load/kinds"
	"doorward/kv/codes"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/names"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/value"
)

// item is one row of a file on its way to the store: what to write, or why not.
type item struct {
	draft
	row      entry.Row
	result   desk.RowResult // the store's
	rejected *Rejection
	checkin  outcome.Outcome // Admitted if it was checked in, Undone if that was undone here before; "" = neither
}

// draft is a row as its file gives it: a JSON object under the kind's own names.
type draft struct {
	line   int
	form   kinds.Form
	id     string
	event  bool // the object names an event
	body   []byte
	column func(field string) string // the file's name for a field

	entered bool      // the row says that its ticket was used
	at      time.Time // when; zero = not said
}

// maker makes items of drafts.
type maker struct {
	event int64
	zone  *time.Location
	seen  *seen    // nil = every row is known to be another
	named contents // nil with seen
	home  int64    // the church that new records are given; 0 = none

	reinstates bool // rows may let tickets in that are kept out here
}

func (it *item) reject(field, why string) *item {
	it.rejected = &Rejection{Line: it.line, Column: it.column(field), Reason: why}
	return it
}

// item reads a draft by its kind's table, and compares it with the rows before it.
func (m *maker) item(d draft) *item {
	it := &item{draft: d}
	if d.form.Field(kinds.Event) != nil && !d.event {
		if m.event == 0 && d.id == "" {
			return it.reject(kinds.Event, "no event: the row names none and --event is not given")
		}
		if m.event != 0 {
			open := d.body[:len(d.body)-1]
			d.body = append(value.AppendMember(open, kinds.Event, value.Number(m.event)), '}')
		}
	}
	if d.id != "" {
		id, ok := d.form.Kind.ParseID(d.id)
		if !ok {
			return it.reject(kinds.ID, fmt.Sprintf("not an id: an integer from 1 to %d is wanted", int64(record.MaxID)))
		}
		it.row.ID = id
	}
	patch, err := d.form.Table.Parse(d.body, record.ParseOptions{Surface: record.Admin, Zone: m.zone})
	if err != nil {
		return it.reject("", syntax(err))
	}
	if len(patch.Faults) > 0 {
		r := ofFaults(it.line, patch.Faults, it.column)
		it.rejected = &r
		return it
	}
	it.row.Kind, it.row.Patch, it.row.Reinstates = d.form.Kind, patch, m.reinstates
	if it.unnamed() {
		return it.reject(kinds.FullName, "no name")
	}
	if m.seen != nil {
		if it.nameless() {
			return it.reject(kinds.Code, fault.Required)
		}
		m.named.name(it, m.home)
		if field, first := m.seen.before(it); first > 0 {
			return it.reject(field, fmt.Sprintf("the same %s stands in line %d", field, first))
		}
	}
	return it
}

// nameless tells whether a ticket has neither id, code nor external_id. It would get another code at each import.
func (it *item) nameless() bool {
	p := it.row.Patch
	return it.form.Kind == record.Ticket && it.row.ID.IsZero() && p.Text(kinds.Code) == "" && p.Text(kinds.ExternalID) == ""
}

// unnamed tells whether a row is a new person without a name.
func (it *item) unnamed() bool {
	if it.form.Kind != record.Person || !it.row.ID.IsZero() || it.row.Patch.Text(kinds.FullName) != "" {
		return false
	}
	_, given := it.row.Patch.Value(kinds.FullName)
	return given || it.row.Patch.Text(kinds.ExternalID) == ""
}

// syntax says at which character a line stops being a JSON object.
func syntax(err error) string {
	var s *value.SyntaxError
	if errors.As(err, &s) {
		return reason(fmt.Sprintf("not a JSON object: %s at character %d", s.Reason, s.Column))
	}
	return "not a JSON object"
}

// seen remembers the ids, codes, external ids, CPFs and memberships of a file's rows. So it finds two rows of one record before either is written; the
// store would take the second for a change of the first. It keeps 128-bit hashes, not the values.
type seen struct {
	seeds [2]maphash.Seed
	lines map[[2]uint64]int32

	mu   sync.Mutex // ids are asked for while further rows are read
	ids  map[rowID]bool
	keep bool // keep ids: a dry run forgives references to rows of the same file

	weak     int     // codes of under 60 bits
	digits   [20]int // codes of digits alone that begin with no 0, by length
	zeros    int     // codes of digits alone that begin with 0
	nameless int     // rows that a second import would not find again
}

// rowID is the id that a row names.
type rowID struct {
	kind *record.Kind
	id   record.ID
}

func newSeen(dryRun bool) *seen {
	return &seen{
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		lines: map[[2]uint64]int32{}, ids: map[rowID]bool{}, keep: dryRun,
	}
}

// before returns the line of an earlier row with the same record, and the field that shows it; 0 if there is none.
func (s *seen) before(it *item) (field string, line int) {
	p := it.row.Patch
	home, placed := p.Value(entry.NumberedIn(it.form.Kind)) // an external_id, a code and a CPF are of one church or event
	code := ""
	if it.form.Kind == record.Ticket {
		code = p.Text(kinds.Code)
	}
	var keys []rowKey
	add := func(field, scope, name string) {
		if name != "" {
			keys = append(keys, rowKey{field, s.hash(it.form.Kind.Name, field, scope+name)})
		}
	}
	if !it.row.ID.IsZero() {
		add(kinds.ID, "", it.form.Kind.FormatID(it.row.ID))
	}
	ext := p.Text(kinds.ExternalID)
	add(kinds.ExternalID, string(home)+"\x00", ext)
	add(kinds.Code, string(home)+"\x00", code)
	if group, ok := p.Value("group_id"); ok && it.form.Kind == record.Membership {
		person, _ := p.Value("person")
		add("person", string(group)+"\x00", string(person))
	}
	if cpf := p.Text(kinds.CPF); it.form.Kind == record.Person && it.row.ID.IsZero() && names.IsCPF(cpf) {
		add(kinds.CPF, string(home)+"\x00", cpf)
	}
	ways := len(keys)
	if !placed { // it may mean the record of any church
		add(kinds.ExternalID, anyHome, ext)
	}
	for _, k := range keys {
		if n, ok := s.lines[k.sum]; ok {
			return k.field, int(n)
		}
	}
	if placed && entry.OwnedByChurch(it.form.Kind) {
		add(kinds.ExternalID, anyHome, ext)
	}
	for _, k := range keys {
		s.lines[k.sum] = int32(min(it.line, math.MaxInt32))
	}
	s.note(it, code, ways)
	return "", 0
}

// anyHome is the scope of an external_id in whatever church.
const anyHome = "*\x00"

// rowKey is a field that names a row's record, and a hash of the name.
type rowKey struct {
	field string
	sum   [2]uint64
}

func (s *seen) note(it *item, code string, keys int) {
	if code != "" && !codes.IsStrong(code) {
		s.weak++
	}
	if code != "" && strings.Trim(code, "0123456789") == "" {
		if code[0] == '0' {
			s.zeros++
		} else if len(code) < len(s.digits) {
			s.digits[len(code)]++
		}
	}
	if keys == 0 && it.form.Kind != record.Membership { // known by its group and person
		s.nameless++
	}
	if s.keep && !it.row.ID.IsZero() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ids[rowID{it.form.Kind, it.row.ID}] = true
	}
}

// hasID tells whether a row of this file has an id.
func (s *seen) hasID(id rowID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ids[id]
}

func (s *seen) hash(kind, field, value string) (sum [2]uint64) {
	text := kind + "\x00" + field + "\x00" + value
	for i, seed := range s.seeds {
		sum[i] = maphash.String(seed, text)
	}
	return sum
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// warnings returns the warnings about the file as a whole.
func (s *seen) warnings() []string {
	var out []string
	if s.weak > 0 {
		out = append(out, counted(s.weak, "code is", "codes are")+" short enough to be guessed (under 60 bits)")
	}
	if n := s.cut(); n > 0 {
		out = append(out, counted(n, "code of digits is", "codes of digits are")+" shorter than the others: a spreadsheet may have cut zeros off at the front, and a scan would not find "+
			map[bool]string{true: "it", false: "them"}[n == 1])
	}
	if s.nameless > 0 {
		out = append(out, counted(s.nameless, "row has", "rows have")+" no external_id, id or code: importing again would add again")
	}
	return out
}

// contents gives a row without any id one that is made of its content, so that the same file again finds its records. It counts rows with the
// same content: they are two records, and stay two.
type contents map[[16]byte]int32

// byContent begins an external_id that is made of a row's content.
const byContent = "file:"

// name gives a row an external_id made of its content, unless the row has an id, an external_id or a CPF, or is a ticket or a membership: a
// code, or person and group, identify these. Two churches may have a person of one content: the church that a key gives its records counts too.
func (c contents) name(it *item, home int64) {
	k, p := it.form.Kind, it.row.Patch
	_, external := k.Field(kinds.ExternalID)
	if names.IsCPF(p.Text(kinds.CPF)) || k == record.Ticket || k == record.Membership || !external || !it.row.ID.IsZero() || p.Text(kinds.ExternalID) != "" {
		return
	}
	h := sha256.New()
	write := func(s string) {
		_, _ = h.Write([]byte(s)) // never fails
	}
	write(k.Name + "\n")
	if _, given := p.Value(kinds.Church); !given && home > 0 && entry.OwnedByChurch(k) {
		write(fmt.Sprintf("of church %d\n", home))
	}
	for i := range it.form.Table.Fields {
		name := it.form.Table.Fields[i].Name
		if v, ok := p.Value(name); ok && v.Kind() != 'n' {
			write(name + "=" + string(v) + "\n") // JSON holds no line end of its own
		}
	}
	key := [16]byte(h.Sum(nil))
	c[key]++
	write(strconv.Itoa(int(c[key])))
	p.Set(kinds.ExternalID, value.Quote(byContent+hex.EncodeToString(h.Sum(nil)[:16])))
}

// cut counts codes that may have lost zeros at the front: one in ten or so is shorter than the others, and none begins with a zero. Numbers in
// a row, 1 to 500, are shorter.
func (s *seen) cut() (short int) {
	all, longest := 0, 0
	for length, n := range s.digits {
		if all += n; n > 0 {
			longest = length
		}
	}
	short = all - s.digits[longest]
	if s.zeros > 0 || longest < 6 || short*100 > 15*all {
		return 0
	}
	return short
}
