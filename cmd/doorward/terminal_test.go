package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"strings"
	"testing"

	"doorward/api/barcode"
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
