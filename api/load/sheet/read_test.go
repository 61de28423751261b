package sheet

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"pgregory.net/rapid"
)

// readAll answers every row of a CSV text as "line:cell|cell" or "line!column reason".
func readAll(text string, comma byte, width int) (out []string) {
	c := &CSV{In: NewLines(bufio.NewReaderSize(strings.NewReader(text), HeadSize)), Comma: comma, Width: width, Full: width}
	for {
		row, err := c.Next()
		switch {
		case errors.Is(err, io.EOF):
			return out
		case err != nil:
			return append(out, err.Error())
		}
		s := strconv.Itoa(row.Line) + ":" + strings.Join(row.Texts, "|")
		if row.Fault != "" {
			s = strconv.Itoa(row.Line) + "!" + strconv.Itoa(row.At) + " " + row.Fault
		}
		out = append(out, s)
	}
}

func TestCSVRows(t *testing.T) {
	const stray = "a quote that neither opens nor closes its cell"
	const open = "a quote is opened and not closed"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"plain rows, with and without a carriage return": {"a,b,c\r\nd,e,f\n", []string{"1:a|b|c", "2:d|e|f"}},
		"lines end with a lone carriage return":          {"a,b,c\rd,e,f\r", []string{"1:a|b|c", "2:d|e|f"}},
		"no line end at the end of the file":             {"a,b,c\nd,e,f", []string{"1:a|b|c", "2:d|e|f"}},
		"blank lines and lines of separators":            {"\n,,\n  \na,b,c\n , ,\n", []string{"4:a|b|c"}},
		"trailing separators":                            {"a,b,c,,\n", []string{"1:a|b|c"}},
		"quotes, doubled quotes, separators inside":      {`"a","b ""x"" ","c,d"` + "\n", []string{`1:a|b "x" |c,d`}},
		"spaces around quotes":                           {`a, "b" ,c` + "\n", []string{"1:a|b|c"}},
		"a quoted cell over three lines":                 {"a,\"x\ny\nz\",c\nd,e,f\n", []string{"1:a|x\ny\nz|c", "4:d|e|f"}},
		"a quoted last cell over two lines":              {"a,b,\"x\ny\"\nd,e,f\n", []string{"1:a|b|x\ny", "3:d|e|f"}},
		"too few columns":                                {"a,b\nd,e,f\n", []string{"1!2 2 columns where the header has 3", "2:d|e|f"}},
		"too many columns":                               {"a,b,c,d\nd,e,f\n", []string{"1!3 4 columns where the header has 3", "2:d|e|f"}},
		"a stray quote inside a cell":                    {"a,b\"b,c\nd,e,f\n", []string{"1!1 " + stray, "2:d|e|f"}},
		"text behind a closing quote":                    {"a,\"b\"b,c\nd,e,f\n", []string{"1!1 " + stray, "2:d|e|f"}},
		"an opening quote that nothing closes":           {"a,\"b,c\nd,e,f\ng,h,i\n", []string{"1!1 " + open, "2:d|e|f", "3:g|h|i"}},
		"an opening quote that a later row seems to close": {"a,\"b,c\nd,e,f\ng,h\",i\nj,k,l\n",
			[]string{"1!1 " + open, "2:d|e|f", "3!1 " + stray, "4:j|k|l"}},
		"two stray quotes in neighbouring rows": {"a,\"b,c\nd,e\",f\ng,h,i\n", []string{"1!1 " + open, "2!1 " + stray, "3:g|h|i"}},
		"an opening quote in the last row":      {"a,b,c\nd,\"e,f", []string{"1:a|b|c", "2!1 " + open}},
		"a NUL":                                 {"a,b\x00,c\nd,e,f\n", []string{"1!1 a NUL character", "2:d|e|f"}},
		"a byte that is not UTF-8":              {"á,b,c\na,\xe1,c\nd,e,f\n", []string{"1:á|b|c", "2!1 bytes that are not UTF-8, in a file that is", "3:d|e|f"}},
		"a line of more than a megabyte":        {strings.Repeat("a", maxLine+9) + "\nd,e,f\n", []string{"1!0 the line is longer than 1 MiB", "2:d|e|f"}},
	} {
		if diff := cmp.Diff(c.want, readAll(c.text, ',', 3)); diff != "" {
			t.Errorf("%s: rows differ (-want +got):\n%s", name, diff)
		}
	}
}

func TestEncodings(t *testing.T) {
	const text = "código;nome\nA-1;José Conceição\n"
	encoded := func(e interface{ String(string) (string, error) }) string {
		s, err := e.String(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, file := range map[string]string{
		"UTF-8":                    text,
		"UTF-8 with a mark":        "\ufeff" + text,
		"UTF-16 LE with a mark":    encoded(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder()),
		"UTF-16 BE with a mark":    encoded(unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder()),
		"UTF-16 LE without a mark": encoded(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder()),
		"UTF-16 BE without a mark": encoded(unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder()),
		"Windows-1252":             encoded(charmap.Windows1252.NewEncoder()),
	} {
		want := []string{"1:código|nome", "2:A-1|José Conceição"}
		if diff := cmp.Diff(want, readAll(file, ';', 2)); diff != "" {
			t.Errorf("%s: rows differ (-want +got):\n%s", name, diff)
		}
	}
}

// TestTextOfAnotherEncodingIsRefused: read as Windows-1252, its names would be others. Titles in ASCII do not show it.
func TestTextOfAnotherEncodingIsRefused(t *testing.T) {
	polish, czech := []string{"Paweł Nowak", "Łukasz", "Żaneta", "Jan Wąsik", "Małgorzata", "Kaźmierz"}, []string{"Dvořák", "Jiří", "Zdeněk", "Růžena", "Vávrů"}
	portuguese := []string{"João", "José", "Antônio", "Conceição"}
	for name, c := range map[string]struct {
		from  *charmap.Charmap
		names []string
	}{
		"Windows-1250, Polish": {charmap.Windows1250, polish}, "Windows-1250, Czech": {charmap.Windows1250, czech}, "ISO 8859-2": {charmap.ISO8859_2, []string{"Małgorzata", "Jan Wąsik"}},
		"DOS": {charmap.CodePage850, append(portuguese, "Lúcia", "Luís", "Nuñez", "Jürgen", "Ângela")}, "DOS of the US": {charmap.CodePage437, []string{"José", "Antônio", "Jürgen"}},
		"DOS of Portugal": {charmap.CodePage860, portuguese}, "an old Mac": {charmap.Macintosh, append(portuguese, "Márcia", "Jürgen")},
		"Windows-1251": {charmap.Windows1251, []string{"Иван Петров"}}, "Windows-1253": {charmap.Windows1253, []string{"Γιώργος"}},
	} {
		for _, guest := range c.names {
			text, err := c.from.NewEncoder().String("code;name\nA-1;Ana\nA-2;" + guest + "\nA-3;Bia\n")
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{text, strings.Replace(text, "Ana\nA-2;", "\"Ana\n", 1)} { // within quotes too
				rows := readAll(file, ';', 2)
				if last := rows[len(rows)-1]; !strings.Contains(last, "line 3 is neither UTF-8 nor Windows-1252") {
					t.Errorf("%s: %s is read as %q", name, guest, last)
				}
			}
		}
	}
}

// TestWindows1252IsRead: names and remarks of its languages, and signs that people write.
func TestWindows1252IsRead(t *testing.T) {
	for _, cell := range []string{
		"João da Conceição", "Antônio D’Ávila", "Mª José", "Nº 3, 1º andar", "Íñigo Núñez", "¿viene? ¡sí!", "Jürgen Groß", "Änne Öztürk", "„vorne“ links", "François Lœuillet", "Œuvre", "L’Haÿ",
		"Ève", "perché è così", "Niccolò", "Forlì", "Søren Kjær", "Åse", "Guðný Þórsdóttir", "Žiga Šimunic–Kos", "Ana—Bia", "Ana\u00a0Souza", "R$ 50 · 25€", "£50", "50 m³", "2 m²", "5°", "½ porção",
		"“Bia”", "«Bia»", "Brand™", "Café®", "l·l", "chega às 9…", "Simões", "Õ", "não", "ÁÉÍ",
	} {
		text, err := charmap.Windows1252.NewEncoder().String("code;name\nA-1;" + cell + "\n")
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"1:code|name", "2:A-1|" + cell}
		if diff := cmp.Diff(want, readAll(text, ';', 2)); diff != "" {
			t.Errorf("rows differ (-want +got):\n%s", diff)
		}
	}
}

func TestWindows1252AfterAMegabyteOfASCII(t *testing.T) {
	rows := readAll(strings.Repeat("a;b\n", 1<<18)+"Jos\xe9;b\n", ';', 2)
	if got := rows[len(rows)-1]; got != "262145:José|b" {
		t.Errorf("last row = %q, want José", got)
	}
}

// TestCSVRowsIsLosslessOnGoodFiles: whatever cells are written by the book come back as they were.
func TestCSVRowsIsLosslessOnGoodFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringMatching(`x[a-z",\n ]{0,8};?[a-z"\n]{0,4};?x`) // fewer separators than a row has
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 4, 4), 1, 5).Draw(t, "rows")
		var b strings.Builder
		var want []string
		for _, r := range rows {
			for i, c := range r {
				b.WriteString([]string{";", ""}[boolInt(i == 0)] + `"` + strings.ReplaceAll(c, `"`, `""`) + `"`)
			}
			b.WriteByte('\n')
			want = append(want, strings.Join(r, "|"))
		}
		var got []string
		for _, r := range readAll(b.String(), ';', 4) {
			_, cells, _ := strings.Cut(r, ":")
			got = append(got, cells)
		}
		if !cmp.Equal(got, want) {
			t.Fatalf("rows of %q = %q, want %q", b.String(), got, want)
		}
	})
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestWholeWritesNumbersAsCellsShowThem(t *testing.T) {
	for text, want := range map[string]string{
		"5.5119999999999997E+12": "5512000000000", "10.300000000000001": "10.3", "5511999999999": "5511999999999", "12E4": "12E4",
		"1234567890123": "1234567890123", "1.5": "1.5", "ABC": "ABC",
	} {
		if got := whole(text); got != want {
			t.Errorf("whole(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestABrokenRowBlocksNoOther: whatever broken rows stand between good ones, every good one is read, with its line, and every
// broken one is reported.
func TestABrokenRowBlocksNoOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		broken := []string{`"a;b;c`, `a;"b;c`, `a;b;"c`, `a"x;b;c`, `a;b"x;c`, `a;"b"x;c`, `a;b`, `a;b;c;d`, "a;b\x00;c", `a;b;c"`}
		rows := rapid.SliceOfN(rapid.SampledFrom(append(broken, "d;e;f", "d;e;f", `"d";"e";"f"`)), 1, 12).Draw(t, "rows")
		got := readAll(strings.Join(rows, "\n")+"\n", ';', 3)
		if len(got) != len(rows) {
			t.Fatalf("%d rows of %q: %q", len(got), rows, got)
		}
		for i, r := range rows {
			good := strings.ContainsRune(r, 'f')
			if want := strconv.Itoa(i+1) + ":d|e|f"; good != (got[i] == want) {
				t.Fatalf("row %d of %q = %q", i+1, rows, got[i])
			}
		}
	})
}
