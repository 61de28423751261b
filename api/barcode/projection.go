package barcode

import "math"

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
