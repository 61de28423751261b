package main

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// pace is how long requests took.
type pace struct {
	took    []time.Duration // the shortest first, once it is taken
	longest time.Duration   // between two answers
}

// at is how long a share of the requests took at most.
func (p pace) at(share float64) time.Duration {
	if len(p.took) == 0 {
		return 0
	}
	return p.took[int(share*float64(len(p.took)-1))]
}

func (p pace) String() string {
	return fmt.Sprintf("%d requests: p50 %v, p99 %v, max %v, longest pause %v", len(p.took), ms(p.at(0.5)), ms(p.at(0.99)), ms(p.at(1)), ms(p.longest))
}

func ms(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// and is the pace of both.
func (p pace) and(o pace) pace {
	p.took, p.longest = append(slices.Clip(p.took), o.took...), max(p.longest, o.longest)
	slices.Sort(p.took)
	return p
}

// paces notes requests, which come from many goroutines.
type paces struct {
	mu   sync.Mutex
	now  pace
	last time.Time // an answer came
}

func (p *paces) note(begun time.Time) {
	ended := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.last.IsZero() {
		p.now.longest = max(p.now.longest, ended.Sub(p.last))
	}
	p.now.took, p.last = append(p.now.took, ended.Sub(begun)), ended
}

// take answers what was noted, and begins anew.
func (p *paces) take() pace {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.now
	p.now, p.last = pace{}, time.Time{}
	slices.Sort(taken.took)
	return taken
}

// comparison is of slices of time in turns: without something beside them, and with it.
type comparison struct {
	without, with pace
	ratios        []float64 // of p99, of each pair
	gap           time.Duration
}

func (c *comparison) add(t *testing.T, without, with pace) {
	t.Helper()
	t.Logf("without: %v", without)
	t.Logf("with:    %v", with)
	if len(c.ratios) == 0 || with.longest < c.gap {
		c.gap = with.longest // what the machine does besides does not strike each time
	}
	c.ratios = append(c.ratios, float64(with.at(0.99))/float64(without.at(0.99)))
	c.without, c.with = c.without.and(without), c.with.and(with)
}

// ratio is the median of the pairs'.
func (c *comparison) ratio() float64 {
	sorted := slices.Sorted(slices.Values(c.ratios))
	return sorted[len(sorted)/2]
}

func (c *comparison) judge(t *testing.T, slower float64) {
	t.Helper()
	if len(c.ratios) == 0 {
		return // it has failed before
	}
	if r := c.ratio(); r > slower {
		t.Errorf("p99 of requests is %.2f times that of doors that nothing goes on beside, want %.1f at most: %.2f", r, slower, c.ratios)
	}
	if most := max(longestPause, 3*c.without.longest); c.gap > most {
		t.Errorf("doors stood still for %v, want %v at most", c.gap, most)
	}
}

func (c *comparison) String() string {
	if len(c.ratios) == 0 {
		return "nothing was compared"
	}
	return fmt.Sprintf("p99 %.2f times; without: %v; with: %v", c.ratio(), c.without, c.with)
}
