package barcode

import (
	"cmp"
	"math"
	"slices"

	"github.com/makiuchi-d/gozxing"
)

// finder is a place that looks like one of a QR code's three rings: dark, light, dark, light, dark in lengths of 1:1:3:1:1 modules.
type finder struct {
	x, y   float64 // of the centre
	module float64 // points a module
	seen   int     // rows that cross it
}

const (
	maxSeen    = 200 // rings that are remembered; a picture of nothing but rings costs no more
	maxFinders = 16  // rings that are combined
	maxTriples = 10  // combinations that are tried
)

// findFinders searches rows for rings. The ones that most rows cross come first.
func findFinders(bits *gozxing.BitMatrix) []finder {
	var found []finder
	step := 1 + bits.GetHeight()/500
	for y := 0; y < bits.GetHeight() && len(found) < maxSeen; y += step {
		found = scanRow(bits, y, found)
	}
	slices.SortStableFunc(found, func(a, b finder) int { return cmp.Compare(b.seen, a.seen) })
	return found[:min(len(found), maxFinders)]
}

// scanRow adds the rings that a row crosses.
func scanRow(bits *gozxing.BitMatrix, y int, found []finder) []finder {
	var runs [5]int // the last five runs; the one that goes on comes last
	dark := false
	for x := 0; x <= bits.GetWidth(); x++ {
		if x < bits.GetWidth() && bits.Get(x, y) == dark {
			runs[4]++
			continue
		}
		if dark && ringLike(runs) {
			if f, ok := confirm(bits, runs, x, y); ok {
				found = merge(found, f)
			}
		}
		copy(runs[:], runs[1:])
		runs[4], dark = 1, !dark
	}
	return found
}

// ringLike tells runs of 1:1:3:1:1, each wrong by half a module at most.
func ringLike(runs [5]int) bool {
	total := 0
	for _, n := range runs {
		if n == 0 {
			return false
		}
		total += n
	}
	if total < 7 {
		return false
	}
	module := float64(total) / 7
	for i, n := range runs {
		want, wrong := module, module/2
		if i == 2 {
			want, wrong = 3*module, 3*module/2
		}
		if math.Abs(float64(n)-want) >= wrong {
			return false
		}
	}
	return true
}

// confirm looks at the column through a ring's middle, then at the row through that column's middle. end is where the five runs end.
func confirm(bits *gozxing.BitMatrix, runs [5]int, end, y int) (finder, bool) {
	x := float64(end) - float64(runs[4]+runs[3]) - float64(runs[2])/2
	cy, height, ok := cross(bits, int(x), y, 0, 1)
	if !ok {
		return finder{}, false
	}
	cx, width, ok := cross(bits, int(x), int(cy), 1, 0)
	if !ok || width > 3*height || height > 3*width {
		return finder{}, false
	}
	return finder{cx, cy, (width + height) / 14, 1}, true
}

// cross measures the five runs through a point along one axis. It returns the middle of the middle run and the length of all.
func cross(bits *gozxing.BitMatrix, x, y, dx, dy int) (middle, length float64, ok bool) {
	back, there := arm(bits, x, y, -dx, -dy), arm(bits, x, y, dx, dy)
	runs := [5]int{back[2], back[1], back[0] + there[0] - 1, there[1], there[2]}
	if !ringLike(runs) {
		return 0, 0, false
	}
	at := float64(x*dx + y*dy)
	middle = at + float64(there[0]-back[0])/2 + 0.5
	return middle, float64(runs[0] + runs[1] + runs[2] + runs[3] + runs[4]), true
}

// arm measures dark, light and dark from a point in one direction; the point itself counts.
func arm(bits *gozxing.BitMatrix, x, y, dx, dy int) (runs [3]int) {
	dark := true
	for i := range runs {
		for inside(bits, x, y) && bits.Get(x, y) == dark {
			runs[i]++
			x, y = x+dx, y+dy
		}
		dark = !dark
	}
	return runs
}

func inside(bits *gozxing.BitMatrix, x, y int) bool {
	return x >= 0 && y >= 0 && x < bits.GetWidth() && y < bits.GetHeight()
}

// merge adds a ring, or counts it where it was seen before.
func merge(found []finder, f finder) []finder {
	for i := range found {
		o := &found[i]
		if math.Abs(o.x-f.x) <= o.module*1.5 && math.Abs(o.y-f.y) <= o.module*1.5 {
			n := float64(o.seen)
			o.x, o.y, o.module = (o.x*n+f.x)/(n+1), (o.y*n+f.y)/(n+1), (o.module*n+f.module)/(n+1)
			o.seen++
			return found
		}
	}
	return append(found, f)
}

// triple is three rings that may belong to one code.
type triple struct {
	topLeft, topRight, bottomLeft finder
	odd                           float64 // how far the rings are from a square seen from the front; 0 = not at all
}

// triples combines rings to codes, the likeliest first.
func triples(found []finder) []triple {
	var out []triple
	for i := range found {
		for j := range i {
			for k := range j {
				if t, ok := combine(found[i], found[j], found[k]); ok {
					out = append(out, t)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b triple) int { return cmp.Compare(a.odd, b.odd) })
	return out[:min(len(out), maxTriples)]
}

// combine orders three rings by their places. It refuses what no view of a code looks like.
func combine(a, b, c finder) (triple, bool) {
	if distance(a, b) >= max(distance(a, c), distance(b, c)) {
		a, c = c, a
	} else if distance(a, c) >= distance(b, c) {
		a, b = b, a
	}
	// now a lies opposite to the longest side
	if (b.x-a.x)*(c.y-a.y)-(b.y-a.y)*(c.x-a.x) < 0 {
		b, c = c, b
	}
	right, down := distance(a, b), distance(a, c)
	sizes := []float64{a.module, b.module, c.module}
	uneven := slices.Max(sizes) / slices.Min(sizes)
	legs := max(right, down) / max(1e-9, min(right, down))
	cosine := math.Abs((b.x-a.x)*(c.x-a.x)+(b.y-a.y)*(c.y-a.y)) / max(1e-9, right*down)
	if uneven > 2 || legs > 2.5 || cosine > 0.8 || min(right, down) < 7*slices.Min(sizes) {
		return triple{}, false
	}
	return triple{a, b, c, uneven - 1 + legs - 1 + cosine}, true
}

func distance(a, b finder) float64 { return math.Hypot(a.x-b.x, a.y-b.y) }
