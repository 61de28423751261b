package barcode

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"

	"github.com/google/go-cmp/cmp"
)

// patient is a reader that a slow machine does not hurry.
func patient() *Reader {
	r := NewReader(1)
	r.patience = time.Minute
	return r
}

// perKind is how many frames of each kind are drawn.
const perKind = 50

func TestHardFramesAreReadAndNeverWrongly(t *testing.T) {
	proof.Unraced(t)
	r, each := patient(), proof.Count(perKind/5, perKind)
	read, alone, wrong := 0, 0, 0
	var took []time.Duration
	for _, kind := range kinds {
		here, there := 0, 0
		for n := range each {
			g, text := frame(t, kind, n)
			picture := g.asJPEG(t)
			start := time.Now()
			codes, err := r.Read(t.Context(), picture)
			took = append(took, time.Since(start))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range codes {
				if c.Text != text {
					wrong++
					t.Errorf("%s %d: read %q, which is not on the frame", kind, n, c.Text)
				}
			}
			if len(codes) == 1 {
				here++
			}
			if library(g) == text {
				there++
			}
		}
		t.Logf("%-10s %d of %d read, %d by the library alone", kind, here, each, there)
		read, alone = read+here, alone+there
	}
	slices.Sort(took)
	t.Logf("all: %d of %d read, %d by the library alone, %d wrong; p50 %v, p99 %v", read, len(took), alone, wrong, took[len(took)/2], took[len(took)*99/100])
	if read < len(took)*95/100 || wrong > 0 || read < alone*2 {
		t.Errorf("of %d frames %d are read: at least 95 %% are wanted, and twice what the library reads alone", len(took), read)
	}
}

func TestEachFormatIsRead(t *testing.T) {
	r := patient()
	for _, c := range []Code{{"K7QP-2M9X", QR}, {"K7QP-2M9X-DM", DataMatrix}, {"TICKET-00481", Code128}, {"4006381333931", EAN}} {
		look := camera{w: 480, h: 360, size: 320, at: 1, noise: 3, blur: 0.5, turn: 0.03}
		for name, turned := range map[string]func(*gray) *gray{"upright": func(g *gray) *gray { return g }, "on its side": (*gray).turned} {
			g := turned(look.look(symbol(t, c.Format, c.Text), rand.New(rand.NewPCG(1, 2))))
			codes, err := r.Read(t.Context(), g.asJPEG(t))
			if diff := cmp.Diff([]Code{c}, codes); err != nil || diff != "" {
				t.Errorf("%s, %s: %v %s", c.Format, name, err, diff)
			}
		}
	}
}

func TestBlurredBarsAreNeverReadWrongly(t *testing.T) {
	proof.Unraced(t)
	r, each := patient(), proof.Count(15, 60)
	read := map[Format]int{}
	for n := range each {
		rnd := rand.New(rand.NewPCG(7, uint64(n)))
		for _, c := range []Code{{fmt.Sprintf("T%08d", rnd.IntN(1e8)), Code128}, {"4006381333931", EAN}} {
			look := camera{w: 420, h: 160, size: 300, at: 0.6, noise: 6, blur: 3 * rnd.Float64(), turn: 0.3 * rnd.Float64(), tilt: 0.5 * rnd.Float64()}
			codes, err := r.Read(t.Context(), look.look(symbol(t, c.Format, c.Text), rnd).asJPEG(t))
			if err != nil || len(codes) > 0 && codes[0] != c {
				t.Errorf("%v read as %v: %v", c, codes, err)
			}
			read[c.Format] += len(codes)
		}
	}
	t.Logf("of %d each: %v", each, read)
}

func TestAllCodesOfASheetAreRead(t *testing.T) {
	sheet := newGray(900, 320)
	var want []Code
	for i, text := range []string{"FAMILY-1", "FAMILY-2", "FAMILY-3"} {
		one := camera{w: 300, h: 320, size: 220, at: 1, tilt: 0.2, lean: float64(i)}.look(symbol(t, QR, text), rand.New(rand.NewPCG(3, uint64(i))))
		for y := range one.h {
			copy(sheet.pix[y*sheet.w+i*300:], one.pix[y*one.w:][:one.w])
		}
		want = append(want, Code{text, QR})
	}
	codes, err := patient().Read(t.Context(), sheet.asJPEG(t))
	slices.SortFunc(codes, func(a, b Code) int { return bytes.Compare([]byte(a.Text), []byte(b.Text)) })
	if diff := cmp.Diff(want, codes); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestPicturesOfAllKindsAreRead(t *testing.T) {
	g, text := frame(t, "blur", 1)
	flat := image.Rect(0, 0, g.w, g.h)
	levels := make(color.Palette, 256)
	for i := range levels {
		levels[i] = color.Gray{byte(i)}
	}
	pictures := map[string]image.Image{
		"grey": &image.Gray{Pix: g.pix, Stride: g.w, Rect: flat}, "palette": &image.Paletted{Pix: g.pix, Stride: g.w, Rect: flat, Palette: levels},
		"alpha": image.NewNRGBA(flat), "deep": image.NewRGBA64(flat),
	}
	for i, p := range g.pix {
		pictures["alpha"].(*image.NRGBA).Set(i%g.w, i/g.w, color.Gray{p})
		pictures["deep"].(*image.RGBA64).Set(i%g.w, i/g.w, color.Gray{p})
	}
	for name, m := range pictures {
		var out bytes.Buffer
		if err := png.Encode(&out, m); err != nil {
			t.Fatal(err)
		}
		codes, err := patient().Read(t.Context(), out.Bytes())
		if diff := cmp.Diff([]Code{{text, QR}}, codes); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func TestHostilePicturesCostLittle(t *testing.T) {
	proof.Unraced(t)
	small, _ := frame(t, "blur", 2)
	whole := small.asJPEG(t)
	rings := newGray(1600, 1600) // nothing but rings
	ring := symbol(t, QR, "R")
	for i := range rings.pix {
		rings.pix[i] = ring.pix[(4+(i/rings.w)%9)*ring.w+4+(i%rings.w)%9]
	}
	stripes := newGray(1600, 1600)
	for i := range stripes.pix {
		stripes.pix[i] = byte(i % 2 * 255)
	}
	noise := newGray(1600, 1600)
	rnd := rand.New(rand.NewPCG(5, 6))
	for i := range noise.pix {
		noise.pix[i] = byte(rnd.Uint32())
	}
	pictures := map[string][]byte{
		"none": nil, "text": []byte("GIF89a no picture at all"), "half": whole[:len(whole)/2], "start": whole[:3],
		"JPEG of 100 megapixels": wideJPEG(whole, 10000, 10000), "PNG of 100 megapixels": widePNG(10000, 10000), "PNG of 4 gigapixels": widePNG(65535, 65535),
		"rings": rings.asJPEG(t), "stripes": stripes.asJPEG(t), "noise": noise.asJPEG(t),
	}
	r := NewReader(1)
	for name, picture := range pictures {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		codes, err := r.Read(t.Context(), picture)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		t.Logf("%-24s %6.1f MB allocated, %v: %v", name, float64(after.TotalAlloc-before.TotalAlloc)/1e6, took, err)
		if len(codes) > 0 {
			t.Errorf("%s: read %v", name, codes)
		}
		if took > 20*patience || after.TotalAlloc-before.TotalAlloc > 50e6 {
			t.Errorf("%s took %v and %d bytes", name, took, after.TotalAlloc-before.TotalAlloc)
		}
	}
	for _, name := range []string{"JPEG of 100 megapixels", "PNG of 100 megapixels", "PNG of 4 gigapixels"} {
		if _, err := r.Read(t.Context(), pictures[name]); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"none", "text", "half", "start"} {
		if _, err := r.Read(t.Context(), pictures[name]); !errors.Is(err, ErrNoPicture) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// wideJPEG says another size in a JPEG's frame header.
func wideJPEG(picture []byte, w, h uint16) []byte {
	out := bytes.Clone(picture)
	at := bytes.Index(out, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(out[at+5:], h)
	binary.BigEndian.PutUint16(out[at+7:], w)
	return out
}

// widePNG is a PNG that says a size and holds nothing.
func widePNG(w, h uint32) []byte {
	head := append([]byte("IHDR"), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)...)
	head = append(head, 8, 0, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(head))
}

func TestAPictureWaitsForItsTurn(t *testing.T) {
	r := NewReader(1)
	r.turns <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	g, _ := frame(f, "small", 3)
	picture := g.asJPEG(f)
	f.Add(picture)
	f.Add(widePNG(20, 20))
	r := NewReader(1)
	f.Fuzz(func(t *testing.T, picture []byte) {
		if _, err := r.Read(t.Context(), picture); err != nil && !errors.Is(err, ErrNoPicture) && !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
	})
}
