package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// How soon pages show their results while other pages scan. Helpers: a stopwatch in the page, and together, by which phones scan at once.

// stopwatch measures one scan in the page: from the Enter that ends a code, as the browser has received the key, to the drawn frame that has
// the result. took is a promise of {whole, asked, outcome}: milliseconds, of which the request to the laptop took asked, and the result.
const stopwatch = `(() => {
	const result = document.getElementById('result'), fetched = window.fetch;
	let began = 0, asked = 0, tell = () => {};
	document.addEventListener('keydown', e => { if (e.key === 'Enter') began = e.timeStamp; }, true);
	window.fetch = async (path, options) => {
		const at = performance.now(), answer = await fetched(path, options);
		if (path.endsWith('/scan/')) asked = performance.now() - at;
		return answer;
	};
	new MutationObserver(() => requestAnimationFrame(() => {
		const drawn = new MessageChannel();
		drawn.port1.onmessage = () => tell({whole: performance.now() - began, asked, outcome: result.dataset.outcome});
		drawn.port2.postMessage(0);
	})).observe(result, {attributeFilter: ['data-outcome']});
	window.measure = () => { window.took = new Promise(done => { tell = done; }); };
})()`

// barePage does nothing but show a colour at each code: what it takes is the browser's own.
const barePage = `(() => {
	document.body.innerHTML = '<input id="code"><p id="result" style="position: fixed; inset: 0"></p>';
	const code = document.getElementById('code'), result = document.getElementById('result');
	code.focus();
	code.addEventListener('keydown', e => {
		if (e.key !== 'Enter') return;
		code.value = '';
		result.textContent = result.dataset.outcome = 'admitted';
		result.style.background = result.style.background === 'green' ? 'darkgreen' : 'green';
	});
})()`

// tookScan is what one scan took, in milliseconds, and its outcome.
type tookScan struct {
	Whole, Asked float64
	Outcome      string
}

// timed has a hand scanner type a code, and waits until its result is drawn.
func (p *phone) timed(code string) (took tookScan, err error) {
	err = chromedp.Run(p.ctx, chromedp.Evaluate(`measure()`, nil), chromedp.KeyEvent(code+kb.Enter), chromedp.Evaluate(`took`, &took, awaited))
	if err == nil && took.Outcome != "admitted" {
		err = fmt.Errorf("%s is %s", code, took.Outcome)
	}
	return took, err
}

// together is how phones scan at once: each begins a scan at every pace, at a moment of its own.
type together struct {
	scans int // of each phone
	pace  time.Duration
	drawn *rand.Rand
}

// scan has phones scan at once, each its own tickets. It returns what the scans took.
func (a together) scan(t *testing.T, phones []*phone) (all []tookScan) {
	t.Helper()
	var mu sync.Mutex
	var busy sync.WaitGroup
	for i, p := range phones {
		begin := time.After(time.Duration(a.drawn.Int64N(int64(a.pace))))
		busy.Go(func() {
			<-begin
			next := time.NewTicker(a.pace)
			defer next.Stop()
			for n := range a.scans {
				took, err := p.timed(fmt.Sprintf("Q%05d", i*a.scans+n))
				if err != nil {
					t.Errorf("phone %d, scan %d: %v", i, n, err)
					return
				}
				mu.Lock()
				all = append(all, took)
				mu.Unlock()
				<-next.C
			}
		})
	}
	busy.Wait()
	return all
}

func (s tookScan) whole() float64 { return s.Whole }
func (s tookScan) asked() float64 { return s.Asked }

// tookBy is the time in which a share of the scans was done: 0.99 is p99.
func tookBy(all []tookScan, share float64, what func(tookScan) float64) float64 {
	values := []float64{0}
	for _, took := range all {
		values = append(values, what(took))
	}
	slices.Sort(values)
	return values[int(share*float64(len(all)))]
}

// TestTenPhonesSeeTheirResultsAtOnce: ten phones scan against one laptop, each a guest in two seconds, which is 300 guests a minute. In 99 of
// 100 scans a result is on the screen within 100 ms of its code. Laptop, browser and ten pages share this machine, and each page
// takes fifty times what the laptop takes: where the machine has other work too, the bound is four times what the browser alone takes
// for a page that only shows a colour.
func TestTenPhonesSeeTheirResultsAtOnce(t *testing.T) {
	const bound, most = 100.0, 4.0 // ms, times
	if !proof.Full() {
		t.Parallel() // a sample has no machine of its own: no bound is asked of it
	}
	pages, at := proof.Count(2, 10), together{proof.Count(3, 40), time.Duration(proof.Count(200, 2000)) * time.Millisecond, rand.New(rand.NewPCG(proof.Seed(t), 0))}
	var rows strings.Builder
	rows.WriteString("code,type,holder_name\n")
	for i := range pages * at.scans {
		fmt.Fprintf(&rows, "Q%05d,Adult,Ana Souza\n", i)
	}
	w := newTown(t, "name\nFesta\n", rows.String())
	phones := make([]*phone, pages)
	for i := range phones {
		phones[i] = browse(t)
		phones[i].do(emulation.SetDeviceMetricsOverride(360, 740, 1, true), chromedp.Evaluate(barePage, nil), chromedp.Evaluate(stopwatch, nil))
	}
	before := at
	before.scans = proof.Count(3, 10) // a bare page is always the same
	bare := before.scan(t, phones)
	for i, p := range phones {
		p.signIn(w.link(), fmt.Sprintf("Bia %d", i))
		p.do(chromedp.Evaluate(stopwatch, nil))
	}
	all := at.scan(t, phones)
	if n := w.admissions(); n != pages*at.scans {
		t.Errorf("the store has %d check-ins, want %d", n, pages*at.scans)
	}
	p99, own := tookBy(all, 0.99, tookScan.whole), tookBy(bare, 0.99, tookScan.whole)
	t.Logf("%d pages, %d scans: from code to result p50 %.0f ms, p99 %.0f ms, max %.0f ms; of which the laptop's answer p50 %.0f ms, p99 %.0f ms; a bare page p50 %.0f ms, p99 %.0f ms",
		pages, len(all), tookBy(all, 0.5, tookScan.whole), p99, tookBy(all, 1, tookScan.whole), tookBy(all, 0.5, tookScan.asked), tookBy(all, 0.99, tookScan.asked), tookBy(bare, 0.5, tookScan.whole), own)
	if p99 > max(bound, most*own) && proof.Full() {
		t.Errorf("99 of 100 results are seen within %.0f ms of their codes, want %.0f ms, or %.0f times the %.0f ms of a bare page", p99, bound, most, own)
	}
}

func TestTwoDoorsSeeEachOther(t *testing.T) {
	w := newDoorTown(t)
	a, b := browse(t), browse(t)
	a.signIn(w.link(), "Bia")
	b.signIn(w.link(), "Caio")
	a.types("K7QP2M", kb.Enter)
	a.sees("admitted")
	scanned := time.Now()
	b.until(`document.getElementById('count-in').textContent === '1'`)
	if took := time.Since(scanned); took > time.Second && proof.Full() { // a sample has no machine of its own
		t.Errorf("the other door has the count after %v, want within a second", took)
	}
	b.types("K7QP2M", kb.Enter)
	b.sees("already_admitted")
}
