package barcode

import "github.com/makiuchi-d/gozxing"

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

// IsRotateSupported says yes: codes of bars may stand upright.
func (g *gray) IsRotateSupported() bool { return true }

// RotateCounterClockwise is the picture turned by 90 degrees.
func (g *gray) RotateCounterClockwise() (gozxing.LuminanceSource, error) {
	out := newGray(g.h, g.w)
	for y := range g.h {
		for x := range g.w {
			out.pix[(g.w-1-x)*g.h+y] = g.pix[y*g.w+x]
		}
	}
	return out, nil
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
