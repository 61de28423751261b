package barcode

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/jpeg" // the formats that package image decodes
	_ "image/png"

	"github.com/makiuchi-d/gozxing"
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
	if !bytes.HasPrefix(data, []byte("\x89PNG")) && !bytes.HasPrefix(data, []byte("\xff\xd8")) {
		return nil, ErrNoPicture // no decoder of another format sees it
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoPicture, err)
	}
	if config.Width < 1 || config.Height < 1 || config.Width > maxCost/config.Height || config.Width*config.Height > maxCost/pointCost(data, format, config) {
		return nil, fmt.Errorf("%w: %d × %d points", ErrTooLarge, config.Width, config.Height)
	}
	m, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoPicture, err)
	}
	g := grayOf(m)
	for max(g.w, g.h) > maxSide {
		g = g.halved()
	}
	return g, nil
}

// formatJPEG is the name of the format in package image.
const formatJPEG = "jpeg"

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

// gray is a picture's luminance, a byte a point, row by row. It is the library's LuminanceSource.
type gray struct {
	gozxing.LuminanceSourceBase
	w, h int
	pix  []byte
}

func newGray(w, h int) *gray {
	return &gray{gozxing.LuminanceSourceBase{Width: w, Height: h}, w, h, make([]byte, w*h)}
}

// GetRow is a copy of one row.
func (g *gray) GetRow(y int, row []byte) ([]byte, error) {
	return append(row[:0], g.pix[y*g.w:][:g.w]...), nil
}

// GetMatrix is all points.
func (g *gray) GetMatrix() []byte { return g.pix }

// Invert is the negative.
func (g *gray) Invert() gozxing.LuminanceSource { return g.inverted() }

// turned is the picture turned by 90 degrees.
func (g *gray) turned() *gray {
	out := newGray(g.h, g.w)
	for y := range g.h {
		for x := range g.w {
			out.pix[(g.w-1-x)*g.h+y] = g.pix[y*g.w+x]
		}
	}
	return out
}

func (g *gray) String() string { return gozxing.LuminanceSourceString(g) }

func (g *gray) inverted() *gray {
	out := newGray(g.w, g.h)
	for i, p := range g.pix {
		out.pix[i] = 255 - p
	}
	return out
}

// halved is half as wide and high; each point is the mean of four.
func (g *gray) halved() *gray {
	out := newGray(max(1, g.w/2), max(1, g.h/2))
	right, below := min(1, g.w-1), min(1, g.h-1)*g.w
	for y := range out.h {
		row := g.pix[min(2*y, g.h-1)*g.w:]
		for x := range out.w {
			p := row[min(2*x, g.w-1):]
			out.pix[y*out.w+x] = byte((int(p[0]) + int(p[right]) + int(p[below]) + int(p[below+right]) + 2) / 4)
		}
	}
	return out
}

// doubled is twice as wide and high; points between are means of their neighbours.
func (g *gray) doubled() *gray {
	out := newGray(2*g.w, 2*g.h)
	for y := range out.h {
		above, below := g.pix[y/2*g.w:], g.pix[min(y/2+y%2, g.h-1)*g.w:]
		for x := range out.w {
			a, b := x/2, min(x/2+x%2, g.w-1)
			out.pix[y*out.w+x] = byte((int(above[a]) + int(above[b]) + int(below[a]) + int(below[b]) + 2) / 4)
		}
	}
	return out
}

// smoothed has at each point the mean of the nine points around it. It takes the noise of dark pictures away.
func (g *gray) smoothed() *gray {
	out := newGray(g.w, g.h)
	for y := range g.h {
		above, row, below := g.pix[max(0, y-1)*g.w:][:g.w], g.pix[y*g.w:][:g.w], g.pix[min(g.h-1, y+1)*g.w:][:g.w]
		for x := range g.w {
			l, r := max(0, x-1), min(g.w-1, x+1)
			sum := int(above[l]) + int(above[x]) + int(above[r]) + int(row[l]) + int(row[x]) + int(row[r]) + int(below[l]) + int(below[x]) + int(below[r])
			out.pix[y*g.w+x] = byte(sum / 9)
		}
	}
	return out
}

// sums are the sums of all points above and to the left, one row and one column more than the picture.
func (g *gray) sums() []uint32 {
	stride := g.w + 1
	out := make([]uint32, stride*(g.h+1))
	for y := range g.h {
		var row uint32
		for x, p := range g.pix[y*g.w:][:g.w] {
			row += uint32(p)
			out[(y+1)*stride+x+1] = out[y*stride+x+1] + row
		}
	}
	return out
}

// underMean marks the points that are darker than the mean of the square around them, which is 2·radius+1 points wide.
func (g *gray) underMean(radius int) *gozxing.BitMatrix {
	bits, _ := gozxing.NewBitMatrix(g.w, g.h) // it fails only for a picture without points
	sums, stride := g.sums(), g.w+1
	for y := range g.h {
		top, bottom := max(0, y-radius)*stride, min(g.h, y+radius+1)*stride
		rows := (bottom - top) / stride
		for x, p := range g.pix[y*g.w:][:g.w] {
			l, r := max(0, x-radius), min(g.w, x+radius+1)
			sum := int(sums[bottom+r]) - int(sums[bottom+l]) - int(sums[top+r]) + int(sums[top+l])
			if (int(p)+4)*rows*(r-l) < sum {
				bits.Set(x, y)
			}
		}
	}
	return bits
}
