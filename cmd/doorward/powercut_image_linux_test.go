package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"doorward/kv/kvtest/disk"
	"doorward/kv/kvtest/proof"
)

// checkers open images, each in a child that is begun anew when an image ends it.
type checkers struct {
	jobs   chan *drawn
	all    sync.WaitGroup
	images atomic.Int64
	lost   atomic.Int64
	double atomic.Int64
	syncs  atomic.Int64 // that failed
	number atomic.Int64 // of folders for images
	room   string       // where those lie
}

// drawn is an image on its way to being checked.
type drawn struct {
	cutJob
	image *disk.Image
	found func(cutVerdict)
}

// startCheckers starts some children, which end with the test.
func startCheckers(t *testing.T, n int) *checkers {
	c := &checkers{jobs: make(chan *drawn), room: proof.Memory(t)} // faster than a disk, and as good
	for range n {
		c.all.Go(c.work)
	}
	t.Cleanup(func() {
		close(c.jobs)
		c.all.Wait()
	})
	return c
}

func (c *checkers) work() {
	var child *checker
	for d := range c.jobs {
		d.Dir = filepath.Join(c.room, fmt.Sprint(c.number.Add(1)))
		v := cutVerdict{}
		if err := d.image.Write(d.Dir); err != nil {
			v.Problem = "the image could not be written: " + err.Error()
		} else {
			if child == nil {
				child = startChecker()
			}
			if v = child.ask(&d.cutJob); child.ended {
				child = nil
			}
		}
		c.images.Add(1)
		c.lost.Add(int64(v.Lost))
		c.double.Add(int64(v.Double))
		_ = os.RemoveAll(d.Dir) // the whole room goes in the end
		d.found(v)
	}
	if child != nil {
		child.end()
	}
}

// checker is one child.
type checker struct {
	cmd   *exec.Cmd
	in    *json.Encoder
	out   *json.Decoder
	said  *output
	end   func()
	ended bool
}

func startChecker() *checker {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	c := &checker{cmd: &exec.Cmd{Path: self, Args: []string{"checkimages"}}, said: &output{}}
	c.cmd.Stderr = c.said
	in, err1 := c.cmd.StdinPipe()
	out, err2 := c.cmd.StdoutPipe()
	if err1 != nil || err2 != nil || c.cmd.Start() != nil {
		panic("no child to check images")
	}
	c.in, c.out = json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))
	c.end = func() {
		c.ended = true
		_ = in.Close()   // by which it ends
		_ = c.cmd.Wait() // however
	}
	return c
}

// ask has the child check an image.
func (c *checker) ask(j *cutJob) (v cutVerdict) {
	err := c.in.Encode(j)
	if err == nil {
		err = c.out.Decode(&v)
	}
	if err != nil {
		c.end()
		said := c.said.String()
		return cutVerdict{Problem: fmt.Sprintf("the image ended its reader: %.600s", said), Lost: len(j.Wants[0].Checkins)}
	}
	return v
}

// story is what happened on a disk, and what is wanted of a power cut at any moment of it.
type story struct {
	name   string
	medium *disk.Medium
	from   int // the first moment at which the power is cut
	wants  func(cut int) []cutWants
}

// cuts cuts the power of a story so often, at moments and with luck drawn from a seed, and checks what it leaves.
func (l *laboratory) cuts(t *testing.T, s story, images int) {
	t.Helper()
	seed, images := l.seed(), max(2, images/l.stride)
	draw := rand.New(rand.NewPCG(seed, 0))
	moments := make([]int, images)
	for i := range moments {
		moments[i] = s.from + draw.IntN(s.medium.Length()-s.from+1)
	}
	moments[0], moments[1] = s.medium.Length(), s.medium.Length()
	slices.Sort(moments)
	var under sync.WaitGroup
	for i, at := range moments {
		s.medium.Advance(at)
		under.Add(1)
		l.check(s.draw(seed, i, at), func(v cutVerdict) {
			defer under.Done()
			if v.Problem != "" {
				l.failed(t, s, seed, i, at, v)
			}
		})
		if t.Failed() {
			break
		}
	}
	under.Wait()
}

// draw makes one image of a story that has come to a moment.
func (s story) draw(seed uint64, i, at int) *drawn {
	r := rand.New(rand.NewPCG(seed, uint64(i+1)))
	luck := disk.Nothing()
	switch i % 8 {
	case 1:
		luck = disk.Everything()
	case 2, 3, 4:
		luck = disk.Any(r)
	case 5, 6, 7:
		luck = s.medium.Until(r)
	}
	image := s.medium.Draw(luck).Find("data")
	d := &drawn{image: image, cutJob: cutJob{Wants: s.wants(at)}}
	if image != nil {
		d.image = image.Without("index")
	}
	return d
}

func (l *laboratory) check(d *drawn, found func(cutVerdict)) {
	if d.image != nil {
		d.found = found
		l.jobs <- d
		return
	}
	l.images.Add(1)
	v := cutVerdict{}
	for _, w := range d.Wants {
		if v = (cutVerdict{}); len(w.Checkins)+w.Tickets > 0 || w.Key != "" {
			v = cutVerdict{Problem: "the folder is gone", Lost: 1}
			continue
		}
		break
	}
	l.lost.Add(int64(v.Lost))
	found(v)
}
