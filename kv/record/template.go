package record

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/value"
)

// A template is the shown run of a record of defaults: all members of a kind, with the values that most records have. A packed run
// lacks long stretches of these members. It has the others:
//
//	0 1 | kind 1 | Version of the table 1 | n × (first place 1, place behind the last 1, length uv, members as JSON)
//
// Places count the template's members from 0. JSON begins with a quotation mark, so the first byte tells the two forms of a run.
type template struct {
	text   []byte
	head   [headSize]byte
	places map[string]int // of the names
	starts []start        // of the members, and of one behind the last
}

// start is where a member begins in its template's text, and where its value does.
type start struct{ member, value int }

const headSize = 3

// packedMark is the first byte of a packed run.
const packedMark = 0

// cutFrom is from how many bytes on a stretch of defaults is cut out. To put back a shorter one takes longer than to copy it. Bodies are
// compared as they lie in the store: with another number, unchanged records would seem changed until each Version is raised.
const cutFrom = 48

// The templates of each Version that a store may have bodies of, a line each: kind, Version, members. A line is never changed.
//
//go:embed templates.txt
var templateLines string

// templates are the templates of each kind, by the kind's number and the Version.
var templates [256][]*template

// addTemplates reads the templates of a kind, and gives the kind the one of its Version. Facts have none: a Draft writes them as JSON.
func addTemplates(k *Kind) {
	if k.Number == 0 || k.Fact {
		return
	}
	lines := "\n" + strings.ReplaceAll(templateLines, "\t", "") // one may be copied with the tab of the message below
	all := make([]*template, int(k.Version)+1)
	for version := range all {
		if _, rest, ok := strings.Cut(lines, fmt.Sprintf("\n%s %d ", k.Name, version)); ok {
			text, _, _ := strings.Cut(rest, "\n")
			all[version] = newTemplate(k.Number, byte(version), strings.TrimSpace(text))
		}
	}
	templates[k.Number], k.template = all, all[k.Version]
	var want []byte
	for _, i := range k.shown {
		want = appendNext(want, 0, k.labels[i], k.initial[i])
	}
	if k.template == nil || !bytes.Equal(k.template.text, want) {
		panic(fmt.Sprintf("record: templates.txt has no line for this table, or another; raise the Version if it has another, and add\n%s %d %s",
			k.Name, k.Version, want))
	}
}

func newTemplate(number, version byte, text string) *template {
	t := &template{text: []byte(text), head: [headSize]byte{packedMark, number, version}, places: map[string]int{}}
	for at := 0; at < len(t.text); {
		quoted, v, after, ok := value.ReadMember(t.text, at)
		if !ok {
			panic("record: templates.txt has a faulty line: " + text)
		}
		t.places[string(quoted[1:len(quoted)-1])] = len(t.starts)
		t.starts = append(t.starts, start{at, after - 1 - len(v)})
		at = after
	}
	t.starts = append(t.starts, start{member: len(t.text) + 1})
	return t
}

// templateOf is the template that a run is packed by. It is nil for JSON, and for a run of neither form, which cannot be read as JSON.
func templateOf(run []byte) *template {
	if len(run) < headSize || run[0] != packedMark || int(run[2]) >= len(templates[run[1]]) {
		return nil
	}
	return templates[run[1]][run[2]]
}

// members is how many there are.
func (t *template) members() int { return len(t.starts) - 1 }

// initial is the default at a place. No one writes to it.
func (t *template) initial(place int) jsontext.Value {
	begin, end := t.starts[place].value, t.starts[place+1].member-1
	return t.text[begin:end:end]
}

// stretch is some members side by side: the place of the first, and the place behind the last.
type stretch struct{ from, to int }

// pack appends the shown run of a document: packed, or as JSON if nothing is cut out.
func (t *template) pack(dst []byte, d *Doc) []byte {
	var stack [16]stretch
	kept, all := t.kept(stack[:0], d), d.Kind.shown
	if len(kept) == 1 && kept[0] == (stretch{0, t.members()}) {
		return appendMembers(dst, d, all)
	}
	dst = append(dst, t.head[:]...)
	for _, r := range kept {
		size := -1 // no comma before the first
		for _, i := range all[r.from:r.to] {
			size += len(",") + len(d.Kind.labels[i]) + len(d.values[i])
		}
		dst = binary.AppendUvarint(append(dst, byte(r.from), byte(r.to)), uint64(size))
		dst = appendMembers(dst, d, all[r.from:r.to])
	}
	return dst
}

// kept appends the stretches of a document's members that are not cut out.
func (t *template) kept(out []stretch, d *Doc) []stretch {
	for place := 0; place < t.members(); {
		given := place // the next member that has another value than its default
		for given < t.members() && bytes.Equal(d.values[d.Kind.shown[given]], t.initial(given)) {
			given++
		}
		if t.starts[given].member-t.starts[place].member >= cutFrom {
			place = given
			continue
		}
		to := min(given+1, t.members())
		if last := len(out) - 1; last >= 0 && out[last].to == place {
			out[last].to = to
		} else {
			out = append(out, stretch{place, to})
		}
		place = to
	}
	return out
}

// next reads the stretch at packed[i:]. from is the number of all members behind the last stretch, and where the run is faulty.
func (t *template) next(packed []byte, i int) (from, to int, text []byte, after int) {
	if i+2 < len(packed) {
		from, to, size, n := int(packed[i]), int(packed[i+1]), uint64(packed[i+2]), 1
		if size >= 0x80 {
			size, n = binary.Uvarint(packed[i+2:])
		}
		if begin := i + 2 + n; n > 0 && size <= uint64(len(packed)-begin) && from < to && to <= t.members() {
			end := begin + int(size)
			return from, to, packed[begin:end:end], end
		}
	}
	return t.members(), t.members(), nil, i
}

// expand appends the JSON of a packed run. Lists of people spend much of their time here.
func (t *template) expand(dst, packed []byte) []byte {
	n, done := len(dst), 0 // how much of dst is written, and of the template's text is passed
	dst = slices.Grow(dst, len(t.text)+len(packed))
	dst = dst[:cap(dst)]
	for i := headSize; ; {
		from, to, text, after := t.next(packed, i)
		begin := t.starts[from].member
		if text == nil || begin < done {
			break
		}
		n += copy(dst[n:], t.text[done:begin])
		n += copy(dst[n:], text)
		done, i = t.starts[to].member-1, after
	}
	return append(dst[:n], t.text[done:]...)
}

// find is a member's value; nil: the template has no such member. It looks first from i on, where a stretch begins; 0: the first one.
// after is where the stretch begins that the member is in, or the next one where it is cut out.
func (t *template) find(packed []byte, i int, name string) (v jsontext.Value, after int) {
	wanted, ok := t.places[name]
	if !ok {
		return nil, i
	}
	for at := max(i, headSize); ; {
		from, to, text, after := t.next(packed, at)
		switch {
		case from <= wanted && wanted < to:
			v, _ := value.Find(text, 0, name)
			return v, at
		case from > wanted && i > headSize:
			v, _ := t.find(packed, 0, name)
			return v, at
		case from > wanted:
			return t.initial(wanted), at
		}
		at = after
	}
}

// read gives a document the values of a packed run, but for defaults that its kind still has. It tells whether the run is sound.
func (t *template) read(d *Doc, packed []byte) bool {
	if packed[1] != d.Kind.Number {
		return false
	}
	own, done := t == d.Kind.template, 0
	for i := headSize; ; {
		from, to, text, after := t.next(packed, i)
		if from < done {
			return false
		}
		for place := done; place < from && !own; place++ {
			readMember(d, t.text[t.starts[place].member:t.starts[place].value-1], t.initial(place))
		}
		if text == nil {
			return i == len(packed)
		}
		var expected []int
		if own {
			expected = d.Kind.shown[from:to]
		}
		if !readRun(d, text, expected) {
			return false
		}
		done, i = to, after
	}
}

// AppendShown appends the shown run as JSON.
func (b Body) AppendShown(dst []byte) []byte {
	if t := templateOf(b.Shown); t != nil {
		return t.expand(dst, b.Shown)
	}
	return append(dst, b.Shown...)
}
