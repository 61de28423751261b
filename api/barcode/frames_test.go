package barcode

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/datamatrix"
	"github.com/makiuchi-d/gozxing/oned"
	qrlib "github.com/makiuchi-d/gozxing/qrcode"
	qrencoder "github.com/skip2/go-qrcode"
)

// This file draws frames as a phone's camera sees them, from a seed. Helpers: symbol draws a code flat, look puts it before a camera,
// frame makes one of a kind, library reads with the library alone.

// symbol is a code as modules with a quiet zone.
func symbol(t testing.TB, format Format, text string) *gray {
	t.Helper()
	if format == QR {
		q, err := qrencoder.New(text, qrencoder.Medium)
		if err != nil {
			t.Fatal(err)
		}
		return fromModules(q.Bitmap())
	}
	var bits *gozxing.BitMatrix
	var err error
	switch format {
	case DataMatrix:
		bits, err = datamatrix.NewDataMatrixWriter().Encode(text, gozxing.BarcodeFormat_DATA_MATRIX, 1, 1, nil)
	case Code128:
		bits, err = oned.NewCode128Writer().Encode(text, gozxing.BarcodeFormat_CODE_128, 1, 40, nil)
	case EAN:
		bits, err = oned.NewEAN13Writer().Encode(text, gozxing.BarcodeFormat_EAN_13, 1, 40, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	const quiet = 8
	modules := make([][]bool, bits.GetHeight()+2*quiet)
	for y := range modules {
		modules[y] = make([]bool, bits.GetWidth()+2*quiet)
		for x := range modules[y] {
			modules[y][x] = bits.Get(x-quiet, y-quiet)
		}
	}
	return fromModules(modules)
}

func fromModules(modules [][]bool) *gray {
	g := newGray(len(modules[0]), len(modules))
	for y, row := range modules {
		for x, dark := range row {
			if g.pix[y*g.w+x] = 235; dark {
				g.pix[y*g.w+x] = 20
			}
		}
	}
	return g
}

// camera is how a code is seen.
type camera struct {
	w, h    int
	size    float64 // points that the code's longer side takes
	turn    float64 // radians in the picture
	tilt    float64 // radians away from the camera, about the axis at angle lean
	lean    float64
	bend    float64 // radians of a cylinder that the code is wrapped around; 0 = flat
	blur    float64 // points
	noise   float64
	low, at float64 // luminance is low + at × what it would be
	glare   float64 // 0 to 1: how much of the code a lamp drowns
	invert  bool
}

// look draws a code as a camera sees it, on a table of uneven grey.
func (c camera) look(code *gray, rnd *rand.Rand) *gray {
	g := newGray(c.w, c.h)
	side := float64(max(code.w, code.h))
	cx, cy := float64(c.w)/2+rnd.Float64()*10-5, float64(c.h)/2+rnd.Float64()*10-5
	gx, gy := cx+(rnd.Float64()-0.5)*c.size*0.5, cy+(rnd.Float64()-0.5)*c.size*0.5
	const over = 2 // samples a side of a point
	view := c.view()
	for y := range c.h {
		for x := range c.w {
			sum := 0.0
			for i := range over * over {
				px, py := float64(x)+(float64(i%over)+0.5)/over-cx, float64(y)+(float64(i/over)+0.5)/over-cy
				u, v, ok := view(px/c.size, py/c.size)
				sum += sampleCode(code, u*side+float64(code.w)/2, v*side+float64(code.h)/2, ok, x+y)
			}
			l := sum / (over * over)
			if c.invert {
				l = 255 - l
			}
			if dx, dy := float64(x)-gx, float64(y)-gy; c.glare > 0 {
				l += 255 * c.glare * math.Exp(-(dx*dx+dy*dy)/(c.size*c.size*0.02))
			}
			g.pix[y*c.w+x] = clamp(l)
		}
	}
	for range int(math.Round(c.blur * c.blur)) { // the 3×3 mean has a variance of 2/3 a side
		g = g.smoothed()
	}
	for i, p := range g.pix {
		g.pix[i] = clamp(c.low + c.at*float64(p) + rnd.NormFloat64()*c.noise)
	}
	return g
}

// view is a function that finds where on the code, in its longer sides from its middle, the camera looks at a place of the picture.
func (c camera) view() func(x, y float64) (u, v float64, ok bool) {
	const far = 2.2 // how far away the camera is, in sides of the code
	back, there, turn := rotation(-c.lean), rotation(c.lean), rotation(-c.turn)
	sin, cos := math.Sincos(c.tilt)
	return func(x, y float64) (u, v float64, ok bool) {
		x, y = back(x, y)
		// the plane is turned about the y axis by tilt: X = u·cos, depth = far + u·sin, seen at X·far/depth
		u = x * far / (far*cos - x*sin)
		v = y * (far + u*sin) / far
		u, v = there(u, v)
		u, v = turn(u, v)
		if c.bend > 0 {
			if math.Abs(u)*c.bend >= 1 {
				return 0, 0, false
			}
			u = math.Asin(u*c.bend) / c.bend
		}
		return u, v, true
	}
}

func rotation(a float64) func(x, y float64) (float64, float64) {
	sin, cos := math.Sincos(a)
	return func(x, y float64) (float64, float64) { return x*cos - y*sin, x*sin + y*cos }
}

func sampleCode(code *gray, x, y float64, ok bool, table int) float64 {
	if !ok || x < 0 || y < 0 || int(x) >= code.w || int(y) >= code.h {
		return 95 + float64(table%47)
	}
	return float64(code.pix[int(y)*code.w+int(x)])
}

func clamp(l float64) byte { return byte(max(0, min(255, l))) }

// kinds are the ways in which frames are hard.
var kinds = []string{"tilt", "blur", "glare", "low light", "small", "bent", "inverted"}

// frame draws the n-th frame of a kind, and says what stands on it.
func frame(t testing.TB, kind string, n int) (*gray, string) {
	rnd := rand.New(rand.NewPCG(uint64(n), uint64(len(kind))))
	text := fmt.Sprintf("K%07X-%08X", rnd.Uint32()&0xfffffff, rnd.Uint32())
	c := camera{w: 400, h: 320, size: 180 + 80*rnd.Float64(), turn: (rnd.Float64() - 0.5) * math.Pi, tilt: 0.15, at: 1, noise: 3, blur: 0.5, lean: rnd.Float64() * 6}
	switch kind {
	case "tilt":
		c.tilt, c.size = 0.5+0.45*rnd.Float64(), 240
	case "blur":
		c.blur = 1.6 + 1.2*rnd.Float64()
	case "glare":
		c.glare = 0.5 + 0.5*rnd.Float64()
	case "low light":
		c.low, c.at, c.noise = 12, 0.10+0.1*rnd.Float64(), 4+3*rnd.Float64()
	case "small":
		c.size, c.turn = 29*(2.1+0.8*rnd.Float64()), 0.1*rnd.Float64()
	case "bent":
		c.bend, c.turn, c.tilt = 0.9+0.8*rnd.Float64(), (rnd.Float64()-0.5)*0.6, 0.1
	case "inverted":
		c.invert, c.tilt = true, 0.4*rnd.Float64()
	}
	return c.look(symbol(t, QR, text), rnd), text
}

// library reads with the library alone, as its own documentation does.
func library(g *gray) string {
	bitmap, err := gozxing.NewBinaryBitmap(gozxing.NewHybridBinarizer(g))
	if err != nil {
		return ""
	}
	hints := map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_TRY_HARDER: true}
	result, err := qrlib.NewQRCodeReader().Decode(bitmap, hints)
	if err != nil {
		return ""
	}
	return result.GetText()
}

// asJPEG is a frame as a phone sends it.
func (g *gray) asJPEG(t testing.TB) []byte {
	var out bytes.Buffer
	m := &image.Gray{Pix: g.pix, Stride: g.w, Rect: image.Rect(0, 0, g.w, g.h)}
	if err := jpeg.Encode(&out, m, &jpeg.Options{Quality: 80}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
