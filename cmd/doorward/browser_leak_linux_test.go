package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A page is open for a whole event: it keeps nothing of a scan that is over.

// scansOn is a driver in the page: scansOn(from, to) does scans of every kind, answers their results, and hands in what a lost answer has kept.
// It waits until nothing is asked or kept any more.
const scansOn = `(() => {
	const $ = id => document.getElementById(id), fetched = window.fetch;
	let lost = false;
	window.fetch = (path, options) => lost && path.endsWith('/scan/') ? Promise.reject(new TypeError('lost')) : fetched(path, options);
	const next = (act, right) => new Promise(done => {
		new MutationObserver((_, watch) => right() && (watch.disconnect(), done())).observe(document.body, {subtree: true, childList: true, attributes: true});
		act();
	});
	const shown = act => next(act, () => !$('result').hidden && $('result-acts').children.length > 0);
	const closed = act => next(act, () => $('result').hidden);
	const codes = ['SOLO', 'KID', 'DAD', 'UNPAID', 'NONE', 'TEEN', 'MUM', 'SOLO', 'BABY', 'TEEN'];
	window.scansOn = async (from, to) => {
		for (let i = from; i < to; i++) {
			lost = i % 10 === 9;
			await shown(() => { $('code').value = codes[i % 10]; $('scan').requestSubmit(); });
			const undo = i % 10 === 0 && [...$('result-acts').children].find(b => b.textContent === 'Undo');
			if (undo) await next(() => undo.click(), () => $('result').dataset.outcome === 'undone');
			await closed(() => $('result-acts').firstElementChild.click());
			if (lost) await next(() => { lost = false; $('code').value = 'NONE'; $('scan').requestSubmit(); }, () => !$('differs').hidden && $('away').hidden);
			if (!$('result').hidden) await closed(() => $('result-acts').firstElementChild.click());
			if (!$('differs').hidden) await next(() => $('differs-seen').click(), () => $('differs').hidden);
		}
		performance.clearResourceTimings();
	};
})()`

// footprint is what a page holds.
type footprint struct {
	heap             float64 // bytes that scripts hold
	nodes, listeners int64
}

// holding collects the page's garbage and measures what is left.
func (p *phone) holding() (f footprint) {
	p.Helper()
	p.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		for range 2 {
			if err := heapprofiler.CollectGarbage().Do(ctx); err != nil {
				return err
			}
		}
		if f.heap, _, _, _, err = runtime.GetHeapUsage().Do(ctx); err != nil {
			return err
		}
		_, f.nodes, f.listeners, err = memory.GetDOMCounters().Do(ctx)
		return err
	}))
	return f
}

// kept is how many scans and differences lie in the phone.
func (p *phone) kept() (n int) {
	p.Helper()
	p.do(chromedp.Evaluate(`new Promise(done => {
		indexedDB.open('doorward').onsuccess = e => {
			const t = e.target.result.transaction(['scans', 'differences']), found = ['scans', 'differences'].map(name => t.objectStore(name).count());
			t.oncomplete = () => done(found[0].result + found[1].result);
		};
	})`, &n, awaited))
	return n
}

// TestAPageKeepsNothingOfItsScans: after many scans of every kind a page holds no more than after a few, and nothing lies in the phone.
func TestAPageKeepsNothingOfItsScans(t *testing.T) {
	t.Parallel()
	few, many := proof.Count(10, 200), proof.Count(40, 2000)
	const nodes, listeners, heap = 60, 20, 256 << 10
	_, p := familyDoor(t)
	p.do(chromedp.Evaluate(scansOn, nil))
	scan := func(from, to int) footprint {
		p.do(chromedp.Evaluate(fmt.Sprintf(`scansOn(%d, %d)`, from, to), nil, awaited))
		return p.holding()
	}
	before := scan(0, few)
	after := scan(few, many)
	for range 20 { // what one collection has left the next may find, once the browser is idle; what the page holds stays
		if after.nodes <= before.nodes+nodes && after.listeners <= before.listeners+listeners && after.heap <= before.heap+heap {
			break
		}
		time.Sleep(100 * time.Millisecond)
		after = p.holding()
	}
	t.Logf("after %d scans %+v, after %d %+v", few, before, many, after)
	if after.nodes > before.nodes+nodes || after.listeners > before.listeners+listeners {
		t.Errorf("%d scans leave %d nodes and %d listeners, %d leave %d and %d", few, before.nodes, before.listeners, many, after.nodes, after.listeners)
	}
	if after.heap > before.heap+heap {
		t.Errorf("%d scans leave %.0f KiB, %d leave %.0f KiB", few, before.heap/1024, many, after.heap/1024)
	}
	if n := p.kept(); n != 0 {
		t.Errorf("%d scans lie in the phone", n)
	}
}
