package line_test

import (
	"fmt"
	"strings"
	"testing"

	"doorward/sync/line"
)

// whole is a line with all that one can have and be cut.
var (
	cutRev = "2-" + strings.Repeat("0a", 16)
	whole  = fmt.Sprintf(`{"seq":"7-01J","doc":{"_id":"person:0000000000000001","_rev":%[1]q,"a":{"b":[1,-2,null]},"é":"née"},"revs":[%[1]q,"1-%032d"],`+
		`"author":{"at":1700000000000000,"key":3,"node":"01J","fields":["a","b"]},"scopes":["church-1","reference"]}`+"\n", cutRev, 5)
)

// FuzzALineIsCutAsItIsRead holds the quick way against the long one: what it cuts is what that reads.
func FuzzALineIsCutAsItIsRead(f *testing.F) {
	for _, change := range [][2]string{{}, {`"a":{"b":[1,-2,null]},"é":"née"`, `"_deleted":true`}, {`,"a":{"b":[1,-2,null]},"é":"née"`, ``},
		{`,"a":{"b":[1,-2,null]},"é":"née"`, `,`}, {`,"a"`, `"a"`}, {`"a"`, `"_attachments"`}, {`"a"`, `"_deleted":true,"a"`}, {`"a"`, `"_deleted":false,"a"`},
		{`"é"`, `"\u00e9"`}, {`"é"`, `"a"`}, {`"person:`, `"é:`}, {`"person:0000000000000001"`, `""`}, {`"7-01J"`, `7`}, {`1700000000000000`, `-1`},
		{`1700000000000000`, `017`}, {`1700000000000000`, `1e3`}, {`1700000000000000`, `9999999999999999999`}, {`"key":3`, `"key":null`}, {`,"fields":["a","b"]`, ``},
		{`,"fields":["a","b"]`, `,"fields":[]`}, {`["church-1","reference"]`, `["church-1",]`}, {`["church-1","reference"]`, `[1]`}, {`"revs":["2`, `"revs":["3`},
		{`"revs":["2-0a`, `"revs":["2-0A`}, {`"scopes"`, `"later"`}, {"}\n", "}"}, {"}\n", "} \n"}, {"}\n", "}}\n"}} {
		f.Add([]byte(strings.Replace(whole, change[0], change[1], 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if cut, read, ok := line.CutAndRead(text); ok && cut != read {
			t.Errorf("%q is cut as\n%s\nand read as\n%s", text, cut, read)
		}
	})
}

// TestOurLinesAreCut: those of a document without attachments.
func TestOurLinesAreCut(t *testing.T) {
	t.Parallel()
	for _, text := range []string{whole, strings.Replace(whole, `,"a":{"b":[1,-2,null]},"é":"née"`, `,"_deleted":true`, 1),
		strings.Replace(whole, `,"scopes":["church-1","reference"]`, "", 1)} {
		if _, _, ok := line.CutAndRead([]byte(text)); !ok {
			t.Errorf("%s is not cut", text)
		}
	}
}
