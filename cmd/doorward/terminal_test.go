package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doorward/api/barcode"
	"doorward/cmd/doorward/help"
)

// readTerminal reads the QR code that a terminal shows, as a phone's camera sees it: two points of the code in one character.
func readTerminal(t testing.TB, text string) string {
	t.Helper()
	const point = 4
	var rows [][]rune
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); strings.ContainsAny(line, "█▀▄") && strings.Trim(line, "█▀▄ ") == "" {
			rows = append(rows, []rune(line))
		}
	}
	if len(rows) == 0 {
		t.Fatalf("the terminal shows no code:\n%s", text)
	}
	picture := image.NewGray(image.Rect(0, 0, len(rows[0])*point, 2*len(rows)*point))
	for y, row := range rows {
		for x, r := range row {
			paint(picture, x, 2*y, point, r == '█' || r == '▀')
			paint(picture, x, 2*y+1, point, r == '█' || r == '▄')
		}
	}
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		t.Fatal(err)
	}
	read, err := barcode.NewReader(1).Read(t.Context(), file.Bytes()) // gozxing alone fails at six of a thousand clean pictures
	if err != nil || len(read) != 1 {
		t.Fatalf("the code in the terminal cannot be read: %v, %v\n%s", read, err, text)
	}
	return read[0].Text
}

// paint paints one point of a code.
func paint(picture *image.Gray, x, y, size int, light bool) {
	if !light {
		return
	}
	for dy := range size {
		for dx := range size {
			picture.SetGray(x*size+dx, y*size+dy, color.Gray{Y: 255})
		}
	}
}

// TestANameDoesNothingToTheTerminal where the operator reads it: a helper types the name of a phone's key, and any client may send a person's.
func TestANameDoesNothingToTheTerminal(t *testing.T) {
	t.Parallel()
	const name = "Ana\x1b[2K\nErase Bia"
	dir := filepath.Join(t.TempDir(), "d")
	person := strings.NewReader(`{"kind":"person","full_name":"Ana\u001b[2K\nErase Bia"}`)
	if code, _, errs := run(t.Context(), person, "import", "--data", dir, "-"); code != exitDone {
		t.Fatalf("import = %d: %s", code, errs)
	}
	if code, _, errs := run(t.Context(), nil, "keys", "add", "--data", dir, "--name", name, "--level", "denomination"); code != exitDone {
		t.Fatalf("keys add = %d: %s", code, errs)
	}
	if code, _, errs := run(t.Context(), nil, "venue", "enrol", "--data", dir, "--name", name, "--mirror"); code != exitDone {
		t.Fatalf("venue enrol = %d: %s", code, errs)
	}
	for _, args := range [][]string{{"keys", "list"}, {"venue", "list"}, {"erase", "person", "1"}} {
		_, out, errs := run(t.Context(), strings.NewReader("no\n"), append(args, "--data", dir)...)
		if said := out + errs; !strings.Contains(said, "Ana·[2K·Erase Bia") {
			t.Errorf("%s prints %q", args, said)
		}
	}
}

// TestAStrangersTextDoesNothingToTheTerminal, whichever command prints it: a list, a peer's message, a remote id, a wrong word.
func TestAStrangersTextDoesNothingToTheTerminal(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b[31mred\x1b]0;owned\a\u009b8m\u202e"
	dir := t.TempDir()
	list := filepath.Join(dir, "list.csv")
	text := "code,name,state,\"" + hostile + "\"\nAAAABBBBCCCCDDD1,\"Ana " + hostile + "\",paid,x\nAAAABBBBCCCCDDD2,Bo,\"weird" + hostile + "\",y\n"
	for i := range 20 { // so that the list is a text all in all
		text += fmt.Sprintf("AAAABBBBCCCCEE%02d,Bia Lima da Silva,paid,\n", i)
	}
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": "red", "reason": hostile})
	}))
	t.Cleanup(server.Close)
	data := func(name string) string { return filepath.Join(dir, name) }
	people := strings.NewReader(`{"kind":"event","name":"Festa","start_datetime":"2030-12-05T19:30:00Z"}`)
	if code, _, errs := run(t.Context(), people, "import", "--data", data("d"), "-"); code != exitDone {
		t.Fatalf("import = %d: %s", code, errs)
	}
	for _, args := range [][]string{
		{"import", "--data", data("d"), "--kind", "ticket", "--event", "1", "--dry-run", list},
		{"replicate", server.URL + "/db", data("out")},
		{"venue", "join", "--data", data("laptop"), server.URL + "/#CODECODECODECODE"},
		{"keys", "red" + hostile},
		{"keys", "list", "--red" + hostile},
		{"export", "--data", data("d"), "--kind", "red" + hostile},
	} {
		_, out, errs := run(t.Context(), nil, args...)
		if said := out + errs; !strings.Contains(said, "red") || strings.ContainsAny(said, "\x1b\a\u009b\u202e") {
			t.Errorf("%q prints %q", args, said)
		}
	}
}

// TestWhatProgramsReadIsExact: an export and the manual are printed byte for byte.
func TestWhatProgramsReadIsExact(t *testing.T) {
	t.Parallel()
	const name = "Ana\u009b\u202e\u007f"
	dir := filepath.Join(t.TempDir(), "d")
	if code, _, errs := run(t.Context(), strings.NewReader(`{"kind":"person","full_name":"`+name+`"}`), "import", "--data", dir, "-"); code != exitDone {
		t.Fatalf("import = %d: %s", code, errs)
	}
	if _, out, errs := run(t.Context(), nil, "export", "--data", dir); !strings.Contains(out, `"`+name+`"`) {
		t.Errorf("export prints %q, %s", out, errs)
	}
	for _, topic := range help.Topics() {
		if _, out, _ := run(t.Context(), nil, "help", topic.Name); out != topic.Printed("") {
			t.Errorf("help %s is not printed as it is", topic.Name)
		}
	}
}
