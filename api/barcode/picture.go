package barcode

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
)

// ErrNoPicture is returned for bytes that are no whole JPEG or PNG picture.
var ErrNoPicture = errors.New("barcode: no JPEG or PNG picture")

// ErrTooLarge is returned for a picture that would take too much memory. It is judged from the picture's header.
var ErrTooLarge = errors.New("barcode: the picture is too large")

const (
	maxCost = 40 << 20 // bytes that a decoder may need for a picture
	maxSide = 1280     // points a side that are searched; a larger picture is reduced
)

// luminance decodes a picture to its luminance. It returns ErrNoPicture or ErrTooLarge.
func luminance(data []byte) (*gray, error) {
	config, format, err := header(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoPicture, err)
	}
	if config.Width < 1 || config.Height < 1 || config.Width > maxCost/config.Height || config.Width*config.Height > maxCost/pointCost(data, format, config) {
		return nil, fmt.Errorf("%w: %d × %d points", ErrTooLarge, config.Width, config.Height)
	}
	decode := png.Decode
	if format == formatJPEG {
		decode = jpeg.Decode
	}
	m, err := decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoPicture, err)
	}
	g := grayOf(m)
	for max(g.w, g.h) > maxSide {
		g = g.halved()
	}
	return g, nil
}

const (
	formatJPEG = "jpeg"
	formatPNG  = "png"
)

// header reads a picture's size and format without decoding it.
func header(data []byte) (image.Config, string, error) {
	if bytes.HasPrefix(data, []byte("\x89PNG")) {
		c, err := png.DecodeConfig(bytes.NewReader(data))
		return c, formatPNG, err
	}
	c, err := jpeg.DecodeConfig(bytes.NewReader(data))
	return c, formatJPEG, err
}

// pointCost is the number of bytes that decoding takes for each point of a picture, at most.
func pointCost(data []byte, format string, c image.Config) int {
	switch {
	case format == formatJPEG && progressive(data):
		return 16 // coefficients of three channels, 4 bytes each, and the picture
	case format == formatJPEG && c.ColorModel == color.CMYKModel:
		return 8
	case format == formatJPEG:
		return 3
	}
	switch c.ColorModel {
	case color.GrayModel:
		return 2
	case color.NRGBA64Model, color.RGBA64Model, color.Gray16Model:
		return 16
	}
	if _, ok := c.ColorModel.(color.Palette); ok {
		return 2
	}
	return 8
}

// progressive tells a progressive JPEG by its start-of-frame marker (ITU T.81, table B.1). A segment that cannot be followed counts as progressive.
func progressive(data []byte) bool {
	for i := 2; i+4 <= len(data) && data[i] == 0xff; {
		switch marker := data[i+1]; {
		case marker == 0xc0 || marker == 0xc1:
			return false
		case marker == 0xff:
			i++
			continue
		case marker == 0xc2:
			return true
		}
		i += 2 + int(data[i+2])<<8 + int(data[i+3])
	}
	return true
}

// grayOf copies a picture's luminance.
func grayOf(m image.Image) *gray {
	b := m.Bounds()
	g := newGray(b.Dx(), b.Dy())
	switch m := m.(type) {
	case *image.YCbCr:
		g.copyRows(m.Y, m.YStride)
	case *image.Gray:
		g.copyRows(m.Pix, m.Stride)
	case *image.Paletted:
		g.copyPaletted(m)
	case *image.NRGBA:
		g.copyColors(m.Pix, m.Stride)
	case *image.RGBA:
		g.copyColors(m.Pix, m.Stride)
	default:
		draw.Draw(&image.Gray{Pix: g.pix, Stride: g.w, Rect: image.Rect(0, 0, g.w, g.h)}, image.Rect(0, 0, g.w, g.h), m, b.Min, draw.Src)
	}
	return g
}

func (g *gray) copyRows(pix []byte, stride int) {
	for y := range g.h {
		copy(g.pix[y*g.w:][:g.w], pix[y*stride:])
	}
}

// copyColors takes red, green, blue and alpha of 8 bits. What is transparent is white, as paper is.
func (g *gray) copyColors(pix []byte, stride int) {
	for y := range g.h {
		row := pix[y*stride:]
		for x := range g.w {
			p := row[4*x:][:4]
			l := (299*int(p[0]) + 587*int(p[1]) + 114*int(p[2])) / 1000
			g.pix[y*g.w+x] = byte(255 - (255-l)*int(p[3])/255)
		}
	}
}

func (g *gray) copyPaletted(m *image.Paletted) {
	var levels [256]byte
	for i, c := range m.Palette {
		levels[i] = color.GrayModel.Convert(c).(color.Gray).Y
	}
	for y := range g.h {
		for x, p := range m.Pix[y*m.Stride:][:g.w] {
			g.pix[y*g.w+x] = levels[p]
		}
	}
}
