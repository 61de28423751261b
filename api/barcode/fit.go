package barcode

import (
	"cmp"
	"math"
	"slices"

	"github.com/makiuchi-d/gozxing"
)

// The sizes of code that are tried, in modules a side: versions 1 to 12. Tickets hold short codes.
const (
	minModules = 21
	maxModules = 65
)

// ringModules is how wide a ring is.
const ringModules = 7

// fit reads the modules of a code that is seen from aside. Each ring has four corners; the projection that puts all twelve of them where they
// belong is sought for each size of code, and the sizes whose timing patterns alternate best are returned, at most two.
func fit(bits *gozxing.BitMatrix, t triple) []*gozxing.BitMatrix {
	var seen [3][4]point
	for i, f := range []finder{t.topLeft, t.topRight, t.bottomLeft} {
		var ok bool
		if seen[i], ok = ringCorners(bits, f, t); !ok {
			return nil
		}
	}
	type candidate struct {
		p     projection
		n     int
		score float64
	}
	var sizes []candidate
	for n := minModules; n <= maxModules; n += 4 {
		if p, ok := project(ringPlaces(n), slices.Concat(seen[0][:], seen[1][:], seen[2][:])); ok {
			sizes = append(sizes, candidate{p, n, timing(bits, p, n)})
		}
	}
	slices.SortStableFunc(sizes, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	var out []*gozxing.BitMatrix
	for _, c := range sizes[:min(len(sizes), 2)] {
		if c.score > 0.7 {
			out = append(out, sample(bits, c.p, c.n))
		}
	}
	return out
}

// point is a place in the picture or on the code.
type point struct{ x, y float64 }

// ringPlaces are the corners of the three rings on a code of n modules: of each ring top left, top right, bottom right, bottom left.
func ringPlaces(n int) []point {
	far := float64(n - ringModules)
	var out []point
	for _, at := range []point{{0, 0}, {far, 0}, {0, far}} {
		out = append(out, at, point{at.x + ringModules, at.y}, point{at.x + ringModules, at.y + ringModules}, point{at.x, at.y + ringModules})
	}
	return out
}

// ringCorners finds the corners of a ring in the order of ringPlaces. It fails where the ring has grown together with something else.
func ringCorners(bits *gozxing.BitMatrix, f finder, t triple) (out [4]point, ok bool) {
	ring := floodRing(bits, f)
	if len(ring) < 16 {
		return out, false
	}
	centre := point{f.x, f.y}
	a := farthest(ring, func(p point) float64 { return math.Hypot(p.x-centre.x, p.y-centre.y) })
	c := farthest(ring, func(p point) float64 { return math.Hypot(p.x-a.x, p.y-a.y) })
	side := func(p point) float64 { return (c.x-a.x)*(p.y-a.y) - (c.y-a.y)*(p.x-a.x) }
	b := farthest(ring, side)
	d := farthest(ring, func(p point) float64 { return -side(p) })
	filled := 0
	for _, p := range []point{a, b, c, d} {
		i := quadrant(p, centre, t)
		out[i] = outward(p, centre)
		filled |= 1 << i
	}
	return out, filled == 1<<4-1
}

// quadrant tells which corner of a ring a point is, along the code's own axes.
func quadrant(p, centre point, t triple) int {
	ux, uy := t.topRight.x-t.topLeft.x, t.topRight.y-t.topLeft.y
	vx, vy := t.bottomLeft.x-t.topLeft.x, t.bottomLeft.y-t.topLeft.y
	det := ux*vy - uy*vx
	px, py := p.x-centre.x, p.y-centre.y
	right, below := (px*vy-py*vx)/det > 0, (ux*py-uy*px)/det > 0
	switch {
	case right && below:
		return 2
	case right:
		return 1
	case below:
		return 3
	}
	return 0
}

// outward moves the middle of a corner's point to the corner itself.
func outward(p, centre point) point {
	n := math.Hypot(p.x-centre.x, p.y-centre.y)
	return point{p.x + (p.x-centre.x)/n*math.Sqrt2/2, p.y + (p.y-centre.y)/n*math.Sqrt2/2}
}

// farthest is the point for which a measure is largest.
func farthest(points []point, measure func(point) float64) point {
	return slices.MaxFunc(points, func(a, b point) int { return cmp.Compare(measure(a), measure(b)) })
}

// floodRing collects the dark points of the ring around a finder's centre, by their middles; none where it is larger than a ring can be.
func floodRing(bits *gozxing.BitMatrix, f finder) []point {
	x, y := int(f.x), int(f.y)
	a := arm(bits, x, y, 1, 0)
	start := [2]int{x + a[0] + a[1], y}
	limit := int(24*f.module*f.module*4) + 64 // a ring is 24 modules large; seen from aside, more
	seen := map[[2]int]bool{start: true}
	queue := [][2]int{start}
	var out []point
	for len(queue) > 0 {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if !inside(bits, at[0], at[1]) || !bits.Get(at[0], at[1]) {
			continue
		}
		if out = append(out, point{float64(at[0]) + 0.5, float64(at[1]) + 0.5}); len(out) > limit {
			return nil
		}
		for _, next := range [][2]int{{at[0] + 1, at[1]}, {at[0] - 1, at[1]}, {at[0], at[1] + 1}, {at[0], at[1] - 1}} {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return out
}

// timing is the share of modules of both timing patterns that alternate as they should.
func timing(bits *gozxing.BitMatrix, p projection, n int) float64 {
	right, all := 0, 0
	for i := ringModules + 1; i < n-ringModules-1; i++ {
		for _, at := range []point{{float64(i) + 0.5, 6.5}, {6.5, float64(i) + 0.5}} {
			all++
			if dark(bits, p.at(at)) == (i%2 == 0) {
				right++
			}
		}
	}
	return float64(right) / float64(all)
}

// sample reads each module by most of five points.
func sample(bits *gozxing.BitMatrix, p projection, n int) *gozxing.BitMatrix {
	out, _ := gozxing.NewSquareBitMatrix(n) // it fails only for a code without modules
	for y := range n {
		for x := range n {
			votes := 0
			for _, o := range []point{{0.5, 0.5}, {0.3, 0.5}, {0.7, 0.5}, {0.5, 0.3}, {0.5, 0.7}} {
				if dark(bits, p.at(point{float64(x) + o.x, float64(y) + o.y})) {
					votes++
				}
			}
			if votes >= 3 {
				out.Set(x, y)
			}
		}
	}
	return out
}

func dark(bits *gozxing.BitMatrix, at point) bool {
	return bits.Get(int(math.Floor(at.x)), int(math.Floor(at.y)))
}

// projection maps places on a flat code to places in a picture: (a·x+b·y+c, d·x+e·y+f) / (g·x+h·y+1).
type projection [8]float64

func (p projection) at(q point) point {
	w := p[6]*q.x + p[7]*q.y + 1
	return point{(p[0]*q.x + p[1]*q.y + p[2]) / w, (p[3]*q.x + p[4]*q.y + p[5]) / w}
}

// project finds the projection that comes nearest to mapping each place to the point seen, by least squares. ok is false where the places do
// not say one.
func project(places, seen []point) (p projection, ok bool) {
	var m [8][9]float64 // the normal equations
	add := func(row [8]float64, value float64) {
		for i := range 8 {
			for j := range 8 {
				m[i][j] += row[i] * row[j]
			}
			m[i][8] += row[i] * value
		}
	}
	for i, q := range places {
		s := seen[i]
		add([8]float64{q.x, q.y, 1, 0, 0, 0, -q.x * s.x, -q.y * s.x}, s.x)
		add([8]float64{0, 0, 0, q.x, q.y, 1, -q.x * s.y, -q.y * s.y}, s.y)
	}
	return solve(m)
}

// solve solves eight equations by elimination.
func solve(m [8][9]float64) (x projection, ok bool) {
	for col := range 8 {
		pivot := col
		for row := col + 1; row < 8; row++ {
			if math.Abs(m[row][col]) > math.Abs(m[pivot][col]) {
				pivot = row
			}
		}
		if math.Abs(m[pivot][col]) < 1e-9 {
			return x, false
		}
		m[col], m[pivot] = m[pivot], m[col]
		for row := range 8 {
			if row == col {
				continue
			}
			factor := m[row][col] / m[col][col]
			for k := col; k < 9; k++ {
				m[row][k] -= factor * m[col][k]
			}
		}
	}
	for i := range 8 {
		x[i] = m[i][8] / m[i][i]
	}
	return x, true
}
