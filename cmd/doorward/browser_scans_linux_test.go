package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Which scans the page takes, and from where: none over a result that was not seen, bursts without an end, cameras with two codes in sight.
// Helper: a logbook notes in the page what was scanned, asked, shown and tapped.

// logbook notes {what, at, outcome, must} in window.log: a scan that has ended, a request that decides one, a result that comes or goes, a tap, and the
// sign that a scan was not taken.
const logbook = `(() => {
	const result = document.getElementById('result'), fetched = window.fetch, must = () => !result.hidden && result.dataset.must === 'tap';
	const note = (what, outcome = '') => log.push({what, at: performance.now(), outcome, must: must()});
	window.log = [];
	document.getElementById('scan').addEventListener('submit', () => note('scanned'), true);
	document.getElementById('result-acts').addEventListener('click', () => note('tapped'), true);
	window.fetch = (path, options) => {
		if (path.endsWith('/scan/')) note('asked');
		return fetched(path, options);
	};
	new MutationObserver(records => {
		if (records.some(r => r.attributeName === 'data-must')) note('shown', result.dataset.outcome);
		if (result.hidden) note('gone');
	}).observe(result, {attributeFilter: ['data-must', 'hidden']});
	new MutationObserver(() => note('untaken')).observe(document.getElementById('untaken'), {childList: true});
})()`

// logged is a note of the logbook.
type logged struct {
	What, Outcome string
	At            float64 // milliseconds
	Must          bool
}

// log reads the logbook.
func (p *phone) log() (all []logged) {
	p.Helper()
	p.do(chromedp.Evaluate(`log`, &all))
	return all
}

// count is how many notes there are of a kind.
func count(all []logged, what string) (n int) {
	for _, one := range all {
		if one.What == what {
			n++
		}
	}
	return n
}

// TestEachResultIsSeen: a helper scans twice a second, taps a notice after two scans more, and scans again what was not taken. Nothing is decided while a
// tap is awaited, each refusal is seen for a second, and each scan that was not taken is shown as one.
func TestEachResultIsSeen(t *testing.T) {
	t.Parallel()
	w := newFamilyTown(t)
	w.load("ticket", "code,type,holder_name,state\nKID2,Child,Ivo Rocha,valid\nKID3,Child,Leo Rocha,valid\nGOOD1,Adult,Ana Reis,valid\nGOOD2,Adult,Bia Reis,valid\nGOOD3,Adult,Caio Reis,valid\n", "--event", "1")
	p := browse(t)
	p.signIn(w.link(), "Bia")
	p.run(logbook)
	codes := []string{"SOLO", "KID", "GOOD1", "UNPAID", "KID2", "NOBODY", "GOOD2", "AUNT", "KID3", "GOOD3"}
	pace := time.NewTicker(500 * time.Millisecond)
	defer pace.Stop()
	waited := 0
	for scans := 0; scans < 20 || len(codes) > 0; scans++ {
		if len(codes) == 0 {
			codes = []string{"SOLO"}
		}
		<-pace.C
		before := p.log()
		if waited == 2 {
			p.next()
			waited = 0
		}
		p.types(codes[0], kb.Enter)
		after := p.log()
		if count(after, "asked") > count(before, "asked") {
			codes = codes[1:]
		}
		if after[len(after)-1].Must {
			waited++
		}
	}
	p.settles()
	all := p.log()
	judge(t, all)
	if n := count(all, "untaken"); n < 6 {
		t.Errorf("%d scans were not taken, want two for each of three notices at least", n)
	}
	notices, refusals := 0, 0
	for _, one := range all {
		switch {
		case one.What != "shown":
		case one.Must:
			notices++
		case one.Outcome != "admitted":
			refusals++
		}
	}
	if notices < 3 || refusals < 3 {
		t.Errorf("the page has shown %d notices and %d refusals: %v", notices, refusals, all)
	}
}

// judge wants a logbook to say that every result was seen.
func judge(t *testing.T, all []logged) {
	t.Helper()
	if scans, taken, not := count(all, "scanned"), count(all, "asked"), count(all, "untaken"); scans != taken+not {
		t.Errorf("of %d scans %d were taken and %d shown as not taken", scans, taken, not)
	}
	var up logged // the result that is shown
	for _, one := range all {
		switch one.What {
		case "shown":
			if up.Outcome != "" && up.Outcome != "admitted" && up.Outcome != "undone" && one.At-up.At < 1000 {
				t.Errorf("%s is seen for %.0f ms, until %s", up.Outcome, one.At-up.At, one.Outcome)
			}
			up = one
		case "tapped":
			up = logged{}
		case "asked", "gone":
			if up.Must {
				t.Errorf("%s while %s waits for its tap", one.What, up.Outcome)
			}
			if up.Outcome != "" && up.Outcome != "admitted" && one.At-up.At < 1000 {
				t.Errorf("%s is seen for %.0f ms", up.Outcome, one.At-up.At)
			}
			up = logged{}
		}
	}
}

// TestAnUndoReplacesNoRefusal: the answer to an undo comes while a refusal is shown, which stays for its second.
func TestAnUndoReplacesNoRefusal(t *testing.T) {
	t.Parallel()
	p := anaCameIn(t)
	p.run(`(() => {
		const real = window.fetch;
		window.fetch = async (path, options) => {
			const answer = await real(path, options);
			if (path.endsWith('/undo/')) await new Promise(done => setTimeout(done, 700));
			return answer;
		};
	})()`)
	p.run(logbook)
	p.do(chromedp.Click("#last button"))
	p.types("NOBODY", kb.Enter)
	p.sees("unknown_code")
	p.sees("undone", "Ana S.")
	judge(t, p.log())
}

// TestTwentyGoodCodesTakeTwelveSeconds, scanned twice a second: a welcome gives way at once.
func TestTwentyGoodCodesTakeTwelveSeconds(t *testing.T) {
	if !proof.Full() {
		t.Parallel() // a sample has no machine of its own: no bound is asked of it
	}
	var rows strings.Builder
	rows.WriteString("code,type,holder_name\n")
	for i := range 20 {
		fmt.Fprintf(&rows, "GUEST%02d,Adult,Ana Souza\n", i)
	}
	w, p := newTown(t, "name\nFesta\n", rows.String()), browse(t)
	p.signIn(w.link(), "Bia")
	p.run(logbook)
	pace := time.NewTicker(500 * time.Millisecond)
	defer pace.Stop()
	for i := 0; i < 20; <-pace.C {
		p.types(fmt.Sprintf("GUEST%02d", i), kb.Enter)
		i = count(p.log(), "asked")
	}
	p.sees("admitted")
	all := p.log()
	judge(t, all)
	took := (all[len(all)-1].At - all[0].At) / 1000
	t.Logf("twenty codes took %.1f s, %d scans were not taken", took, count(all, "untaken"))
	if took > 12 && proof.Full() {
		t.Errorf("twenty codes took %.1f s, want 12", took)
	}
	if n := w.admissions(); n != 20 {
		t.Errorf("the store has %d check-ins, want 20", n)
	}
}

// promptly has a page wait for the end of a burst as long as it does on phones.
const promptly = `{
	const later = window.setTimeout;
	window.setTimeout = (act, after, ...rest) => later(act, act.name === 'endBurst' ? after / 20 : after, ...rest);
}`

// TestABurstWithoutAnEndIsACode: some scanners send no Enter. What a person types waits for it, as does a key that is held.
func TestABurstWithoutAnEndIsACode(t *testing.T) {
	w := newDoorTown(t)
	p := browse(t)
	p.do(onEachPage(promptly))
	p.signIn(w.link(), "Bia")
	p.run(`document.getElementById('code').value = 'K7'`) // typed, and left
	bursts := func(code string) {
		t.Helper()
		p.run(fmt.Sprintf(`document.activeElement.blur(); for (const key of %q) document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))`, code))
	}
	bursts("B2XX91")
	p.sees("admitted", "Bia S.")
	p.next()
	p.run(`document.getElementById('code').focus(); for (let n = 0; n < 9; n++) document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'K', repeat: n > 0, bubbles: true}))`)
	bursts("K7Q")
	p.do(chromedp.Evaluate(`new Promise(done => setTimeout(done, 400))`, nil, awaited))
	p.until(`document.getElementById('result').hidden`)
	if n := w.admissions(); n != 1 {
		t.Errorf("the store has %d check-ins, want that of the burst", n)
	}
}

// TestAScanWhileANameIsSoughtIsAScan scans into the search by name, with an Enter at the end and without one. A typed name is not a scan.
func TestAScanWhileANameIsSoughtIsAScan(t *testing.T) {
	w := newDoorTown(t)
	p := browse(t)
	p.do(onEachPage(promptly))
	p.signIn(w.link(), "Bia")
	opens := func() { p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words")) }
	opens()
	p.do(writing("#find-words", "souza"), chromedp.WaitVisible("#find-list button"), chromedp.KeyEvent(kb.Enter))
	p.until(`document.getElementById('find').open`)
	p.run(`for (const key of 'K7QP2M') document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))`)
	p.sees("admitted", "Ana S.")
	p.until(`!document.getElementById('find').open`)
	p.next()
	opens()
	p.run(`document.querySelector('#find .close').focus(); for (const key of [...'B2XX91', 'Enter']) document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}))`)
	p.sees("admitted", "Bia S.")
}

// TestTheCameraSaysOnceThatItTakesNoScan: the ticket of the result lies before it still, and is no scan. Another one is, and is taken when the result is
// answered and it lies there still.
func TestTheCameraSaysOnceThatItTakesNoScan(t *testing.T) {
	_, p := familyDoor(t)
	p.run(logbook)
	p.opensCamera("KID")
	p.labelled("Gil R.")
	signs := func(want int) {
		t.Helper()
		for range 3 {
			p.looksTwice()
		}
		if n := count(p.log(), "untaken"); n != want {
			t.Errorf("the camera has said %d times that it takes no scan, want %d", n, want)
		}
	}
	signs(0)
	p.run(`sight = ['SOLO']`)
	p.untaken("Not scanned. Tap “Done, next” first.")
	signs(1)
	p.run(`sight = ['KID']`)
	signs(1)
	p.run(`sight = ['SOLO']`)
	p.next()
	p.labelled("Ana S.")
	signs(1)
}

// TestTwoCodesInThePicture: the one that is a ticket's is read, by a camera and on a photo. Of two tickets, or none, the helper covers one.
func TestTwoCodesInThePicture(t *testing.T) {
	w, p := familyDoor(t)
	p.run(logbook)
	p.opensCamera("SOLO")
	p.labelled("Ana S.")
	p.next()
	p.run(`sight = ['https://social.example/church', 'KID']`)
	p.labelled("Gil R.")
	p.next()
	p.run(`sight = ['https://social.example/church']`) // the ticket is taken away first
	p.looksTwice()
	p.run(`sight = ['TEEN', 'UNPAID']`)
	p.until(`document.getElementById('eye-says').textContent === 'Two codes: cover one.'`)
	p.run(`sight = ['UNPAID']`)
	p.sees("unpaid")
	p.until(`document.getElementById('eye-says').textContent === 'Hold the code in front of the camera.'`)
	p.next()
	p.do(chromedp.Click("#eye-close"))
	p.run(`delete window.BarcodeDetector`) // the laptop reads photos
	photo := filepath.Join(t.TempDir(), "two.png")
	drawCodes(t, photo, "https://social.example/church", "TEEN")
	p.do(chromedp.SetUploadFiles("#photo", []string{photo}))
	p.labelled("Eva L.")
	p.do(chromedp.WaitVisible("#family"), chromedp.Click("#result-acts button:nth-child(2)"), chromedp.WaitNotVisible("#result")) // only this one
	drawCodes(t, photo, "TEEN", "SOLO")
	p.do(chromedp.SetUploadFiles("#photo", []string{photo}))
	p.until(`document.getElementById('eye-says').textContent === 'Two codes: cover one.'`)
	if n := w.admissions(); n != 3 {
		t.Errorf("the store has %d check-ins, want three", n)
	}
	p.until(`![...document.querySelectorAll('#last strong')].some(e => e.textContent === 'Unknown code')`)
}

// TestTheCameraHasALampAndASwitch, where the phone has them. The formats are those that tickets have.
func TestTheCameraHasALampAndASwitch(t *testing.T) {
	_, p := atDoor(t)
	p.run(fakeCamera + `; (() => {
		const give = navigator.mediaDevices.getUserMedia;
		Object.assign(window, {wanted: [], lit: [], formats: null});
		navigator.mediaDevices.enumerateDevices = async () => ['front', 'back'].map(deviceId => ({kind: 'videoinput', deviceId}));
		navigator.mediaDevices.getUserMedia = async ({video}) => {
			wanted.push(video.deviceId?.ideal ?? video.facingMode);
			const stream = await give();
			for (const track of stream.getTracks()) Object.assign(track, {
				getCapabilities: () => ({torch: wanted.length === 1}), getSettings: () => ({deviceId: wanted.length === 1 ? 'back' : 'front'}),
				applyConstraints: async ({advanced}) => { lit.push(advanced[0].torch); },
			});
			return stream;
		};
		BarcodeDetector = class extends BarcodeDetector {
			static async getSupportedFormats() { return ['qr_code', 'aztec', 'pdf417', 'itf']; }
			constructor(options) { super(); formats = options.formats.join(); }
		};
	})()`)
	p.do(chromedp.Click("#way-camera"))
	p.until(`asked === 1`)
	p.run(`give()`)
	p.do(chromedp.WaitVisible("#eye-lamp"), chromedp.Click("#eye-lamp"))
	p.until(`document.getElementById('eye-lamp').getAttribute('aria-pressed') === 'true'`)
	p.do(chromedp.Click("#eye-lamp"))
	p.until(`lit.join() === 'true,false' && formats === 'qr_code,aztec,pdf417'`)
	p.do(chromedp.Click("#eye-next"))
	p.until(`asked === 2 && stopped === 1`)
	p.run(`give()`)
	p.until(`wanted.join() === 'environment,front' && document.getElementById('eye-lamp').hidden && !document.getElementById('eye-next').hidden`)
	p.run(`sight = ['K7QP2M']`)
	p.labelled("Ana S.")
}

// TestWhichTextsNameOneTicket, as the laptop reads them.
func TestWhichTextsNameOneTicket(t *testing.T) {
	_, p := atDoor(t)
	const guest = "https://tickets.example/check-in/evt-AbCdEfGhIjKlMnO?pk=g-2Aa1Bb2Cc3Dd4E"
	type pair struct {
		A, B string
		Same bool
	}
	pairs := []pair{
		{"K7QP-2M", " k7qp2m", true}, {"K7", "K8", false}, {"ｋ７", "K7", true}, {"]Q1K7QP-2M", "K7QP2M", true}, {"A'B/C", "A-B-C", true}, {"", "", false}, {"--", "", false},
		{guest + "e", guest + "f", false}, {guest + "e", guest + "e", true}, {"g-2Aa1Bb2Cc3Dd4Ee", guest + "e", true}, {"g-2Aa1Bb2Cc3Dd4Ee", guest + "f", false},
		{"KID", "https://tickets.example/t/k-id?from=mail", true}, {"mail", "https://tickets.example/t/k-id?from=mail", false}, {"http://a.example/t/AB", "https://b.example/t/ab/", true},
		{"https://a.example?c=1", "https://a.example?c=2", false}, {"https://a.example/t?c=1", "https://a.example/t?c=2", false}, {"FRAGMENT", "https://a.example/t#fragment", true},
		{"A B", "https://a.example/t/a%20b", true}, {"A B", "https://a.example/t/a%20b%", false},
	}
	given, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	var wrong []pair
	p.do(chromedp.Evaluate(`import('/door/assets/codes.js').then(({same}) => `+string(given)+`.filter(one => same(one.A, one.B) !== one.Same || same(one.B, one.A) !== one.Same))`, &wrong, awaited))
	for _, one := range wrong {
		t.Errorf("%q and %q: want the same ticket: %t", one.A, one.B, one.Same)
	}
}
