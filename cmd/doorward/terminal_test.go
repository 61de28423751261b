package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
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
