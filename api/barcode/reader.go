package barcode

import (
	"context"
	"slices"
	"time"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/datamatrix"
	"github.com/makiuchi-d/gozxing/oned"
	"github.com/makiuchi-d/gozxing/qrcode/decoder"
	"github.com/makiuchi-d/gozxing/qrcode/detector"
)

// Format is a kind of code.
type Format string

// The formats that are read.
const (
	QR         Format = "qr"
	DataMatrix Format = "data_matrix"
	Code128    Format = "code_128"
	EAN        Format = "ean"
)

// Code is one code in a picture.
type Code struct {
	Text   string `json:"text"`
	Format Format `json:"format"`
}

// Reader reads pictures, few at once.
type Reader struct {
	turns    chan struct{}
	patience time.Duration // how long one picture is searched
}

// NewReader makes a reader of at most atOnce pictures at a time. Others wait.
func NewReader(atOnce int) *Reader { return &Reader{make(chan struct{}, atOnce), patience} }

// Read returns the codes of a JPEG or PNG picture, none where it shows none. It returns ErrNoPicture for other bytes, ErrTooLarge for a picture
// that would take too much memory, and the context's error if that ends before the picture has its turn.
func (r *Reader) Read(ctx context.Context, picture []byte) ([]Code, error) {
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	g, err := luminance(picture)
	if err != nil {
		return nil, err
	}
	return climb(g, r.patience), nil
}

// patience is how long one picture is searched.
const patience = 150 * time.Millisecond

// rung is one view of a picture.
type rung struct {
	view func(*gray) *gray
	bars bool // bars and Data Matrix are sought, too
}

// ladder is the order in which a picture is looked at. Most pictures are read on the first rung.
var ladder = []rung{
	{func(g *gray) *gray { return g }, true},
	{(*gray).inverted, false},
	{(*gray).smoothed, true},
	{(*gray).halved, true},
	{func(g *gray) *gray { return g.smoothed().inverted() }, false},
	{func(g *gray) *gray { return g.halved().halved() }, false},
	{doubledIfSmall, true},
	{func(g *gray) *gray { return doubledIfSmall(g.inverted()) }, false},
	{func(g *gray) *gray { return doubledIfSmall(g.smoothed()) }, false},
}

// doubledIfSmall is nil for a picture that has points enough.
func doubledIfSmall(g *gray) *gray {
	if max(g.w, g.h) > maxSide/2 {
		return nil
	}
	return g.doubled()
}

// climb looks at a picture in one way after the other until something is read or time is up. The first way always has its turn.
func climb(g *gray, patience time.Duration) []Code {
	end := time.Now().Add(patience)
	bars := map[Code]int{}
	for step, r := range ladder {
		view := r.view(g)
		if view == nil || min(view.w, view.h) < minModules {
			continue
		}
		for _, binarize := range binarizers {
			if step > 0 && time.Now().After(end) {
				return nil
			}
			if found := attempt(func() []Code { return readQR(binarize(view)) }); len(found) > 0 {
				return found
			}
		}
		if r.bars {
			if found := attempt(func() []Code { return readOthers(view, bars) }); len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

// attempt reads nothing where the library panics.
func attempt(read func() []Code) (codes []Code) {
	defer func() {
		if recover() != nil {
			codes = nil
		}
	}()
	return read()
}

// binarizers are the ways in which a picture becomes black and white: by blocks, by one threshold for all, and by the mean around each point.
var binarizers = []func(*gray) *gozxing.BitMatrix{
	func(g *gray) *gozxing.BitMatrix { return blackMatrix(gozxing.NewHybridBinarizer(g)) },
	func(g *gray) *gozxing.BitMatrix { return blackMatrix(gozxing.NewGlobalHistgramBinarizer(g)) },
	func(g *gray) *gozxing.BitMatrix { return g.underMean(max(8, max(g.w, g.h)/16)) },
}

// blackMatrix is nil where a picture has no contrast.
func blackMatrix(b gozxing.Binarizer) *gozxing.BitMatrix {
	bits, err := b.GetBlackMatrix()
	if err != nil {
		return nil
	}
	return bits
}

// readQR reads all QR codes of a black and white picture. A ring belongs to one code.
func readQR(bits *gozxing.BitMatrix) (codes []Code) {
	if bits == nil {
		return nil
	}
	used := map[finder]bool{}
	for _, t := range triples(findFinders(bits)) {
		if used[t.topLeft] || used[t.topRight] || used[t.bottomLeft] {
			continue
		}
		if text, ok := readTriple(bits, t); ok {
			used[t.topLeft], used[t.topRight], used[t.bottomLeft] = true, true, true
			if code := (Code{text, QR}); !slices.Contains(codes, code) {
				codes = append(codes, code)
			}
		}
	}
	return codes
}

// readTriple reads the code of three rings: with the library's grid, then with a fit of their corners.
func readTriple(bits *gozxing.BitMatrix, t triple) (string, bool) {
	pattern := func(f finder) *detector.FinderPattern { return detector.NewFinderPattern1(f.x, f.y, f.module) }
	info := detector.NewFinderPatternInfo(pattern(t.bottomLeft), pattern(t.topLeft), pattern(t.topRight))
	if grid, err := detector.NewDetector(bits).ProcessFinderPatternInfo(info); err == nil {
		if text, ok := decodeQR(grid.GetBits()); ok {
			return text, true
		}
	}
	for _, grid := range fit(bits, t) {
		if text, ok := decodeQR(grid); ok {
			return text, true
		}
	}
	return "", false
}

func decodeQR(grid *gozxing.BitMatrix) (string, bool) {
	result, err := decoder.NewDecoder().Decode(grid, nil)
	if err != nil || result.GetText() == "" {
		return "", false
	}
	return result.GetText(), true
}

// readOthers reads a Data Matrix or a code of bars. What bars say counts when it was read twice; seen counts over the rungs.
func readOthers(g *gray, seen map[Code]int) []Code {
	bitmap, err := gozxing.NewBinaryBitmap(gozxing.NewHybridBinarizer(g))
	if err != nil {
		return nil
	}
	if result, err := datamatrix.NewDataMatrixReader().Decode(bitmap, nil); err == nil && result.GetText() != "" {
		return []Code{{result.GetText(), DataMatrix}}
	}
	for _, view := range []*gray{g, g.turned()} { // codes of bars may stand upright
		for _, strip := range view.strips() {
			if code, ok := readBars(strip); ok {
				if seen[code]++; seen[code] > 1 {
					return []Code{code}
				}
			}
		}
	}
	return nil
}

// strips are 32 rows of a picture, evenly apart.
func (g *gray) strips() (out []*gray) {
	const rows = 32
	for i := range rows {
		y := (2*i + 1) * g.h / (2 * rows)
		out = append(out, &gray{gozxing.LuminanceSourceBase{Width: g.w, Height: 1}, g.w, 1, g.pix[y*g.w:][:g.w]})
	}
	return out
}

// readBars reads Code 128 or EAN.
func readBars(g *gray) (Code, bool) {
	bitmap, err := gozxing.NewBinaryBitmap(gozxing.NewHybridBinarizer(g))
	if err != nil {
		return Code{}, false
	}
	if result, err := oned.NewCode128Reader().Decode(bitmap, nil); err == nil && result.GetText() != "" {
		return Code{result.GetText(), Code128}, true
	}
	if result, err := oned.NewMultiFormatUPCEANReader(nil).Decode(bitmap, nil); err == nil && result.GetText() != "" {
		return Code{result.GetText(), EAN}, true
	}
	return Code{}, false
}
