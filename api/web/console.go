package web

import (
	"fmt"
	"strings"

	qrcode "github.com/skip2/go-qrcode"
)

// Console is what the page for the people at the laptop shows of a key.
type Console struct {
	Base  string
	Name  string   // of the key
	Near  []Card   // the events whose doors are set up now
	Later []Card   // the others, with neither counts nor roles
	Needs []string // sentences that ask for a person, in the reader's language
}

// Card is an event. Start is as the datetime of an HTML time.
type Card struct {
	ID           int64
	Name, Start  string
	Open         bool // it takes check-ins
	Reentry      bool // In counts the guests that are inside now
	In, Expected int
	Roles        []string // of the helpers that the key may let in: "steward", "supervisor"
}

// QR is a QR code as the path of an SVG, which fills what is dark. Size is its width and height, with the light border.
type QR struct {
	Size int    `json:"size"`
	Path string `json:"path"`
}

// Draw makes the QR code of a text. It returns an error for a text that is too long for one.
func Draw(text string) (QR, error) {
	code, err := qrcode.New(text, qrcode.Medium)
	if err != nil {
		return QR{}, fmt.Errorf("draw a QR code: %w", err)
	}
	rows := code.Bitmap()
	var path strings.Builder
	for y, row := range rows {
		for x := 0; x < len(row); {
			end := x + 1
			for end < len(row) && row[end] == row[x] {
				end++
			}
			if row[x] {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x, y, end-x, end-x)
			}
			x = end
		}
	}
	return QR{len(rows), path.String()}, nil
}
