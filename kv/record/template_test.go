package record

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const trialNumber = 200

// trial is a version of a kind's table; lines are its templates.
func trial(t *testing.T, version byte, lines string, fields ...Field) *Kind {
	t.Helper()
	was := templateLines
	defer func() { templateLines = was }()
	templateLines = lines
	return table(Kind{Name: "trial", Number: trialNumber, Version: version, Fields: fields})
}

const (
	long   = `"an_address_that_most_records_have_not":null,"a_second_one_of_the_same":"x"`
	first  = "trial 1 \"name\":\"\"," + long + ",\"note\":null\n"
	second = "trial 2 \"note\":null,\"an_address_that_most_records_have_not\":\"none\",\"name\":\"\",\"new\":false\n"
)

// TestABodyOfAnEarlierTable: what was cut out of a body are the defaults of the table that wrote it, whatever they are now.
func TestABodyOfAnEarlierTable(t *testing.T) {
	named := []Field{
		{"name", Text{Max: 9}, 0, `""`},
		{"an_address_that_most_records_have_not", Text{Max: 9}, Null, ``},
		{"a_second_one_of_the_same", Text{Max: 9}, 0, `"x"`},
		{"note", Text{Max: 9}, Null, ``},
	}
	d := trial(t, 1, first, named...).NewDoc()
	d.Set("name", jsontext.Value(`"Ana"`))
	body := d.Encode()
	if want := "\x00\xc8\x01" + "\x00\x01\x0c" + `"name":"Ana"`; string(body.Shown) != want {
		t.Errorf("%q, want %q", body.Shown, want)
	}
	whole := d.Clone()
	whole.Set("a_second_one_of_the_same", jsontext.Value(`"y"`))
	if got, want := string(whole.Encode().Shown), `"name":"Ana",`+strings.Replace(long, "x", "y", 1)+`,"note":null`; got != want {
		t.Errorf("%q, want JSON where nothing is cut out: %q", got, want)
	}
	now := trial(t, 2, first+second, named[3],
		Field{"an_address_that_most_records_have_not", Text{Max: 9}, 0, `"none"`}, named[0], Field{"new", Bool{}, 0, `false`})
	d, err := now.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	want := `"note":null,"an_address_that_most_records_have_not":null,"name":"Ana","new":false` + `|"a_second_one_of_the_same":"x"`
	again := d.Encode()
	if got := string(again.AppendShown(nil)) + "|" + string(again.Hidden); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestATableNeedsItsTemplate: a table that changes without its Version would read stored bodies wrongly.
func TestATableNeedsItsTemplate(t *testing.T) {
	name := Field{"name", Text{Max: 9}, 0, `""`}
	for _, lines := range []string{"", "trial 2 \"name\":\"\"\n", "trial 1 \"name\":null\n", "trial 1 \"name\":\"\",\"b\":null\n", "trial 1 \"b\":\"\"\n", "other 1 \"name\":\"\"\n", "subtrial 1 \"name\":\"\"\n", "trial 1 name\n"} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, "templates.txt") {
					t.Errorf("a table with %q says %s", lines, said)
				}
			}()
			trial(t, 1, lines, name)
		}()
	}
	trial(t, 1, "trial 1 \"name\":\"\"\n", name)
}

// TestAPackedBodyIsWhole: whatever a person gives, each member is there, in its place.
func TestAPackedBodyIsWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 2000 {
		d, given := Person.NewDoc(), r.IntN(len(Person.shown)+1)
		for range given {
			i := Person.shown[r.IntN(len(Person.shown))]
			d.values[i] = jsontext.Value(`"` + string(bytes.Repeat([]byte{'a'}, r.IntN(3)*r.IntN(90))) + `"`)
		}
		body, want := d.Encode(), appendMembers(nil, d, Person.shown)
		if got := body.AppendShown([]byte("before")); string(got) != "before"+string(want) {
			t.Fatalf("%s, want %s", got, want)
		}
		at, again := 0, Body{}
		for _, i := range Person.shown {
			var v jsontext.Value
			if v, at = body.Next(Person.Fields[i].Name, at); !bytes.Equal(v, d.values[i]) || !bytes.Equal(body.Member(Person.Fields[i].Name), v) {
				t.Fatalf("%s is %s, want %s", Person.Fields[i].Name, v, d.values[i])
			}
		}
		if v, _ := body.Next("full_name", at); !bytes.Equal(v, d.Value("full_name")) {
			t.Fatalf("full_name after all others is %s", v)
		}
		back, err := Person.Decode(body)
		if err == nil {
			again = back.Encode()
		}
		if err != nil || !bytes.Equal(again.Shown, body.Shown) || !slices.EqualFunc(back.values, d.values, func(a, b jsontext.Value) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("%v: %q, want %q", err, again.Shown, body.Shown)
		}
	}
}

// TestAFaultyPackedBody is refused, and no reader of it fails.
func TestAFaultyPackedBody(t *testing.T) {
	d := Person.NewDoc()
	d.Set("full_name", jsontext.Value(`"Ana"`))
	d.Set("email", jsontext.Value(`"ana@example.org"`))
	whole := d.Encode().Shown
	for i := range whole {
		for _, faulty := range [][]byte{whole[:i], slices.Concat(whole[:i], []byte{255}, whole[i+1:]), slices.Concat(whole[:i], []byte{0}, whole[i+1:]), slices.Insert(slices.Clone(whole), i, 7)} {
			body := Body{Shown: faulty}
			body.AppendShown(nil)
			body.Next("email", min(i, len(faulty)))
			body.Member("created_at")
			back, err := Person.Decode(body)
			if err == nil && string(appendMembers(nil, back, Person.shown)) == string(appendMembers(nil, d, Person.shown)) && !bytes.Equal(faulty, whole) && i > 0 {
				t.Errorf("%q is read as %q", faulty, whole)
			}
		}
	}
	head, ana := whole[:headSize:headSize], `"full_name":"Ana"`
	for name, faulty := range map[string][]byte{
		"a byte too many":              slices.Concat(whole, []byte{7}),
		"a stretch that is no JSON":    slices.Concat(head, []byte{0, 1, byte(len(ana) + 2)}, []byte(ana+",x")),
		"a stretch of no known length": slices.Concat(head, []byte{0, 1}, bytes.Repeat([]byte{255}, 12)),
		"another first byte":           slices.Concat([]byte{1}, whole[1:]),
		"a later Version":              slices.Concat([]byte{packedMark, Person.Number, Person.Version + 1}, whole[headSize:]),
	} {
		if _, err := Person.Decode(Body{Shown: faulty}); err == nil {
			t.Errorf("%s: %q is read", name, faulty)
		}
	}
	if _, err := Church.Decode(Body{Shown: whole}); err == nil {
		t.Error("a person is read as a church")
	}
}

// TestWhatIsCutOut: a stretch of 48 bytes, and none of 47. Stored bodies are compared with what this program would write.
func TestWhatIsCutOut(t *testing.T) {
	for size, want := range map[int]string{
		47: `"a":1,"` + strings.Repeat("b", 47-len(`"":null,`)) + `":null,"c":1,"d":1`,
		48: "\x00\xc8\x01" + "\x00\x01\x05" + `"a":1` + "\x02\x04\x0b" + `"c":1,"d":1`,
	} {
		middle := strings.Repeat("b", size-len(`"":null,`))
		k := trial(t, 1, `trial 1 "a":null,"`+middle+`":null,"c":null,"d":null`, Field{"a", Text{Max: 9}, Null, ``}, Field{middle, Text{Max: 9}, Null, ``},
			Field{"c", Text{Max: 9}, Null, ``}, Field{"d", Text{Max: 9}, Null, ``})
		d := k.NewDoc()
		for _, name := range []string{"a", "c", "d"} {
			d.Set(name, jsontext.Value("1"))
		}
		if got := string(d.Encode().Shown); got != want {
			t.Errorf("with a stretch of %d bytes: %q, want %q", size, got, want)
		}
	}
}
