package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"doorward/cmd/doorward/invite"
	"doorward/kv/kvtest/proof"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/skip2/go-qrcode"
)

// The page for helpers at a door, in a real browser against the real program. Helpers: doorTown is a server with an event and its tickets,
// phone a browser of a phone's size; a phone's methods are what a helper does and sees.

// doorTown is a program that serves an event with tickets.
type doorTown struct {
	*program
	served *serving1
	port   string
}

const doorTickets = `code,type,holder_name,state,order
K7QP2M,Adult,Ana Souza,valid,
B2XX91,<img src=x onerror=alert(1)>,Bia Souza,valid,
C3,Adult,Caio Lima,unpaid,
D4ZZ17,VIP,Davi Reis,cancelled,
`

func newDoorTown(t *testing.T) *doorTown {
	t.Helper()
	t.Parallel()
	return newTown(t, "name\n\"Festa & <b>Louvor</b>\"\n", doorTickets)
}

// atDoor is a newDoorTown and a phone at its door.
func atDoor(t *testing.T) (*doorTown, *phone) {
	t.Helper()
	w, p := newDoorTown(t), browse(t)
	p.signIn(w.link(), "Bia")
	return w, p
}

// newTown is a server with one event and its tickets.
func newTown(t *testing.T, event, tickets string) *doorTown {
	t.Helper()
	w := &doorTown{program: &program{t, compiled(t), filepath.Join(t.TempDir(), "data")}}
	head, row, _ := strings.Cut(strings.TrimSuffix(event, "\n"), "\n")
	w.load("event", head+",start_datetime\n"+row+","+time.Now().Add(time.Hour).Format(time.RFC3339)+"\n")
	w.load("ticket", tickets, "--event", "1")
	w.port = choosePort(t)
	w.up()
	t.Cleanup(w.down) // before its folder goes
	return w
}

// load imports a list.
func (w *doorTown) load(kind, rows string, more ...string) {
	w.Helper()
	file := filepath.Join(w.TempDir(), kind+".csv")
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		w.Fatal(err)
	}
	var report struct{ Created int }
	w.run(&report, append([]string{"import", "--kind", kind, "--yes", file}, more...)...)
}

// up starts the server, at the same port each time, as a laptop does.
func (w *doorTown) up() {
	w.Helper()
	var err error
	if w.served, err = w.start("--listen=127.0.0.1:" + w.port); err != nil {
		w.Fatal(err)
	}
}

// down kills the server.
func (w *doorTown) down() {
	w.served.kill()
	<-w.served.exited
}

// link is an address that opens the page on one phone.
func (w *doorTown) link(more ...string) string {
	w.Helper()
	var out invite.Door
	w.run(&out, append([]string{"door", "--event", "1"}, more...)...)
	return out.URLs[len(out.URLs)-1]
}

// admissions are how many check-ins the store has.
func (w *doorTown) admissions() int {
	w.Helper()
	count, _ := w.checkins()
	return count
}

// checkins are how many check-ins the store has, and when one of them was made.
func (w *doorTown) checkins() (count int, at time.Time) {
	w.Helper()
	var k key
	w.run(&k, "keys", "add", "--name", "count", "--level", "denomination", "--allow", "admin:GET")
	r, err := http.NewRequest(http.MethodGet, w.served.url+"/admin/v1/checkin/?limit=1", nil)
	if err != nil {
		w.Fatal(err)
	}
	r.SetBasicAuth(k.Key, k.Secret)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	var page struct {
		Count   int
		Results []struct{ At time.Time }
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil || resp.StatusCode != http.StatusOK {
		w.Fatalf("%d %v", resp.StatusCode, err)
	}
	if len(page.Results) > 0 {
		at = page.Results[0].At
	}
	return page.Count, at
}

// laptopName is a name of this machine that a browser does not take for its own.
const laptopName = "porta.local"

// phone is a browser of a phone's size.
type phone struct {
	testing.TB
	ctx    context.Context
	mu     sync.Mutex
	faults []string // what the browser complained of
	asked  []string // hosts
}

// browser is the one that most phones are pages of. Each phone has cookies and storage of its own in it.
type browser struct {
	mu  sync.Mutex
	ctx context.Context // nil = it is not open
}

var chromium browser

// manyPages leaves to make proof what goes beyond a helper's usual ways: pages take most of the processors' time in this package.
const manyPages = "pages take long"

// shared opens the browser at its first use.
func (b *browser) shared(t testing.TB) context.Context {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx == nil {
		ctx, end := openBrowser(context.Background())
		endBrowser = end
		if err := chromedp.Run(ctx); err != nil {
			t.Fatal(err)
		}
		b.ctx = ctx
	}
	return b.ctx
}

// page opens a window with a profile of its own, until the test ends.
func (b *browser) page(t testing.TB) context.Context {
	t.Helper()
	ctx := b.shared(t)
	ctx = cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser)
	profile, err := target.CreateBrowserContext().Do(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.DisposeBrowserContext(profile).Do(ctx); err != nil {
			t.Error(err)
		}
	})
	window, err := target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(ctx)
	if err != nil {
		t.Fatal(err)
	}
	page, leave := chromedp.NewContext(ctx, chromedp.WithTargetID(window))
	t.Cleanup(leave)
	return page
}

// unused are what chromedp turns off in a browser, and the process that a browser starts for a page that may be opened next.
var unused = chromedp.Flag("disable-features", "site-per-process,Translate,BlinkGenPropertyTrees,SpareRendererForSitePerProcess")

// browserPatience is how long a browser may take to start: the first one reads all of its program from the disk.
const browserPatience = 2 * time.Minute

// openBrowser makes a browser with further flags. It starts when it is first used.
func openBrowser(ctx context.Context, flags ...chromedp.ExecAllocatorOption) (context.Context, func()) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.WindowSize(360, 740), chromedp.Flag("lang", "en-US"), finding, unused, chromedp.WSURLReadTimeout(browserPatience))
	all, end := chromedp.NewExecAllocator(ctx, append(options, flags...)...)
	dialling := chromedp.WithBrowserOption(chromedp.WithDialTimeout(browserPatience))
	ctx, leave := chromedp.NewContext(all, dialling, chromedp.WithErrorf(func(string, ...any) {})) // it tells of events that it does not know
	return ctx, func() { leave(); end() }
}

// browse opens a phone. One with flags of its own is a browser of its own. When the test ends it wants the phone to be clean.
func browse(t *testing.T, flags ...chromedp.ExecAllocatorOption) *phone {
	t.Helper()
	proof.Unraced(t) // the server is another process
	if _, err := exec.LookPath("chromium"); err != nil {
		proof.Missing(t, "chromium is missing: %v", err)
	}
	var ctx context.Context
	if len(flags) > 0 {
		own, end := openBrowser(t.Context(), flags...)
		t.Cleanup(end)
		ctx = own
	} else {
		ctx = chromium.page(t)
	}
	ctx, late := context.WithTimeout(ctx, 6*time.Minute)
	t.Cleanup(late)
	p := &phone{TB: t, ctx: ctx}
	t.Cleanup(p.clean)
	chromedp.ListenTarget(ctx, p.notice)
	p.do(slowly, network.Enable(), cdplog.Enable(), runtime.Enable(), emulation.SetDeviceMetricsOverride(360, 740, 2, true), emulation.SetFocusEmulationEnabled(true))
	return p
}

// slowly gives pages the time that a busy machine takes. Results stay for eight seconds where a test sets no other time: a button may take longer
// to be pressed than the usual two. A page waits for an answer, and for the end of a scanner's burst, twenty times as long as a phone's does: tests say
// what is lost, and the clock does not.
var slowly = chromedp.ActionFunc(func(ctx context.Context) error {
	_, err := page.AddScriptToEvaluateOnNewDocument(`{
		try { localStorage.time ??= '8' } catch {} // a blank page has no storage
		const wait = setTimeout;
		window.setTimeout = (act, after, ...rest) => wait(act, ['giveUp', 'endBurst'].includes(act.name) ? 20 * after : after, ...rest);
	}`).Do(ctx)
	return err
})

// notice keeps what the browser complains of, and which hosts it asks.
func (p *phone) notice(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *cdplog.EventEntryAdded:
		if e.Entry.Source == cdplog.SourceSecurity || strings.Contains(e.Entry.Text, "Content Security Policy") {
			p.faults = append(p.faults, e.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, e.ExceptionDetails.Error())
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil && u.Host != "" {
			p.asked = append(p.asked, u.Hostname())
		}
	}
}

// clean wants the browser to have had nothing to complain of, and to have asked this machine alone. browse asks it of every phone.
func (p *phone) clean() {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) == 0 && !p.Failed() {
		p.Error("the browser tells of no request")
	}
	for _, fault := range p.faults {
		p.Errorf("the browser says: %s", fault)
	}
	for _, host := range p.asked {
		if host != "localhost" && host != "127.0.0.1" && host != laptopName {
			p.Errorf("the page asked %s", host)
		}
	}
}

// faulted answers what the browser has complained of, and takes it for expected.
func (p *phone) faulted() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	said := strings.Join(p.faults, "\n")
	p.faults = nil
	return said
}

// glance is the time between two looks at a page. chromedp looks each 5 ms, or at each frame, which takes the time of other tests.
const glance = 25 * time.Millisecond

func (p *phone) do(actions ...chromedp.Action) {
	p.Helper()
	for _, action := range actions {
		if s, ok := action.(*chromedp.Selector); ok {
			chromedp.RetryInterval(glance)(s)
		}
		ran := make(chan error, 1)
		go func() {
			err := chromedp.Run(p.ctx, action)
			for renumbered(err) {
				err = chromedp.Run(p.ctx, action)
			}
			ran <- err
		}()
		var err error
		select {
		case err = <-ran:
		case <-time.After(2 * pagePatience): // an element that never comes ends the test, and not the run
			err = fmt.Errorf("%T waits for ever", action)
		}
		if err != nil {
			var page string
			_ = chromedp.Run(p.ctx, chromedp.Evaluate(`document.body?.innerText ?? ''`, &page))
			p.Fatalf("%v; the page says:\n%s", err, page)
		}
	}
}

// renumbered: a page that loads gives its elements new numbers, and the element that an action had found has lost its own. The action
// has not touched it yet.
func renumbered(err error) bool {
	var refused *cdproto.Error
	return errors.As(err, &refused) && refused.Message == "Could not find node with given id"
}

// signIn opens a link, says the helper's name and goes to the door.
func (p *phone) signIn(link, name string) {
	p.Helper()
	p.do(chromedp.Navigate(link), chromedp.WaitVisible("#helper"), chromedp.SendKeys("#helper", name), chromedp.Click("#enter-ticket button"),
		chromedp.WaitVisible("#pick-form"), chromedp.SetValue("#door", "Entrance"), chromedp.Click("#pick-form > button"), chromedp.WaitVisible("#code"))
}

// writing writes into a field as a person does, slower than a scanner: the letters come without keys.
func writing(field, text string) chromedp.Action {
	return chromedp.Tasks{chromedp.Focus(field), input.InsertText(text)}
}

// types has a hand scanner type a code, wherever the focus is.
func (p *phone) types(code, end string) {
	p.Helper()
	for _, r := range code + end {
		events := kb.Encode(r)
		if len(events) == 3 { // a key, its letter, and its release: the letter comes with the key, as from a scanner, however slow this machine is
			events[0].Text, events[0].UnmodifiedText = events[1].Text, events[1].UnmodifiedText
			events = slices.Delete(events, 1, 2)
		}
		for _, event := range events {
			p.do(event)
		}
	}
}

// sees waits for a result, and for words on it.
func (p *phone) sees(outcome string, words ...string) {
	p.Helper()
	var text string
	p.until(fmt.Sprintf(`document.querySelector('#result[data-outcome=%s]:not([hidden])') !== null`, outcome))
	p.do(chromedp.Evaluate(`document.getElementById('result').innerText`, &text))
	for _, w := range words {
		if !strings.Contains(text, w) {
			p.Errorf("%s says %q, without %q", outcome, text, w)
		}
	}
}

// untaken wants the page to say that it did not take a scan, and why.
func (p *phone) untaken(why string) {
	p.Helper()
	p.until(fmt.Sprintf(`!document.getElementById('untaken').hidden && document.getElementById('untaken').textContent === %q`, why))
	p.until(`document.documentElement.dataset.signal === 'untaken'`)
}

// looks are the colour of the result, and the tune that was played.
func (p *phone) looks() (colour, tune string) {
	p.Helper()
	p.do(chromedp.Evaluate(`getComputedStyle(document.getElementById('result')).backgroundColor`, &colour),
		chromedp.Evaluate(`document.documentElement.dataset.signal`, &tune))
	return colour, tune
}

// keepsOut scans a code while the laptop is out of reach, and does not let the guest in.
func (p *phone) keepsOut(code string) {
	p.Helper()
	p.types(code, kb.Enter)
	p.sees("unreachable")
	p.do(chromedp.Click("#result-acts button:last-child"), chromedp.WaitNotVisible("#result"))
}

// letsInAlone lets a guest in while the laptop does not answer.
func (p *phone) letsInAlone(code string) {
	p.Helper()
	p.types(code, kb.Enter)
	p.sees("unreachable")
	p.next()
}

// next closes a result. One that the page has closed by itself is closed.
func (p *phone) next() {
	p.Helper()
	p.holds()
	var closed bool
	if p.do(chromedp.Evaluate(`document.getElementById('result').hidden`, &closed)); !closed {
		p.do(chromedp.Click("#result-acts .primary"), chromedp.WaitNotVisible("#result"))
	}
}

// pagePatience is how long a page may take for what must come: a family that comes in is a dozen requests, one after another.
const pagePatience = 2 * time.Minute

// until waits for an expression to be true.
func (p *phone) until(expression string) {
	p.Helper()
	p.do(chromedp.Poll(expression, nil, chromedp.WithPollingInterval(glance), chromedp.WithPollingTimeout(pagePatience)))
}

func TestAHelperScansAtTheDoor(t *testing.T) {
	w := newDoorTown(t)
	p := browse(t)
	link := w.link()
	p.signIn(link, "Bia <i>")
	for _, try := range []struct {
		code, outcome, colour, tune string
		words                       []string
	}{
		{"K7QP2M", "admitted", "rgb(31, 122, 61)", "good", []string{"Welcome", "Ana S.", "Adult"}},
		{"k7qp-2m", "already_admitted", "rgb(180, 83, 9)", "twice", []string{"Already in", "Ana S.", "In since", "here at this door"}},
		{"C3", "unpaid", "rgb(180, 35, 24)", "bad", []string{"Not paid", "cash desk"}},
		{"D4ZZ17", "cancelled", "rgb(180, 35, 24)", "bad", []string{"Cancelled"}},
		{"NOBODY", "unknown_code", "rgb(180, 35, 24)", "bad", []string{"Unknown code", "Scan again"}},
		{"B2XX91", "admitted", "rgb(31, 122, 61)", "good", []string{"Welcome", "Bia S.", "<img src=x onerror=alert(1)>"}},
	} {
		p.types(try.code, kb.Enter)
		p.sees(try.outcome, try.words...)
		if colour, tune := p.looks(); colour != try.colour || tune != try.tune {
			t.Errorf("%s looks %s and sounds %s", try.outcome, colour, tune)
		}
		if try.outcome != "admitted" {
			p.next()
		} else {
			p.do(chromedp.WaitNotVisible("#result")) // by itself
		}
	}
	p.until(`document.getElementById('count-in').textContent === '2' && document.getElementById('doors').innerText.includes('2 in')`)
	p.do(chromedp.Click("#last .good button"), chromedp.WaitVisible("#result[data-outcome=undone]"))
	p.next()
	p.until(`document.getElementById('count-in').textContent === '1'`)
	if n := w.admissions(); n != 2 {
		t.Errorf("the store has %d check-ins, want 2", n)
	}

	other := browse(t)
	other.do(chromedp.Navigate(link), chromedp.WaitVisible("#helper"), chromedp.SendKeys("#helper", "Eva"), chromedp.Click("#enter-ticket button"))
	other.until(`document.getElementById('enter-fault').textContent.includes('used before')`)
}

func TestAHandScannersBurstsAreNotMixed(t *testing.T) {
	w := newDoorTown(t)
	var rows strings.Builder
	rows.WriteString("code,type\n")
	for i := range 30 {
		fmt.Fprintf(&rows, "BURST%04d,Adult\n", i)
	}
	w.load("ticket", rows.String(), "--event", "1")
	p := browse(t)
	p.signIn(w.link(), "Bia")
	p.do(chromedp.Click("#last-title")) // the focus is nowhere
	p.types("BURST0000", kb.Enter)
	p.sees("admitted")
	p.until(`document.getElementById('work').inert`)
	var early bool
	p.do(chromedp.Evaluate(`document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'B', bubbles: true})), document.querySelector('#last li') !== null`, &early))
	if early {
		t.Error("a list is drawn at the first key of a code, whose result is late by that")
	}
	p.until(`document.querySelector('#last li') !== null`)
	for i := 1; i < 30; i++ {
		p.types(fmt.Sprintf("BURST%04d", i), []string{kb.Enter, kb.Tab}[i%2]) // over results, too
		p.sees("admitted")
	}
	p.until(`document.getElementById('count-in').textContent === '30'`)
	if n := w.admissions(); n != 30 {
		t.Errorf("the store has %d check-ins, want 30", n)
	}
}

func TestAHelperFindsAGuestByName(t *testing.T) {
	_, p := atDoor(t)
	p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words"), writing("#find-words", "souz"), chromedp.WaitVisible("#find-list button"))
	p.run(`document.querySelector('#find-list button').same = true`)
	p.do(writing("#find-words", "a"))
	p.until(`performance.getEntriesByType('resource').some(e => e.name.endsWith('?q=souza'))`)
	p.settles()
	p.until(`document.querySelector('#find-list button').same`) // one letter more finds the same: a finger may be on the button
	p.do(chromedp.Click("#find-list button"))
	p.sees("admitted", "Ana S.")
	p.next()
	p.types("K7QP2M", kb.Enter)
	p.sees("already_admitted", "Ana S.")
}

// TestAHelperHearsOfMoreGuestsOfAName: a steward is shown five tickets of a name, and that there are others. A ticket that does not let in is checked.
func TestAHelperHearsOfMoreGuestsOfAName(t *testing.T) {
	w := newDoorTown(t)
	w.load("ticket", "code,holder_name\nM1,Eva Melo\nM2,Eva Melo\nM3,Eva Melo\nM4,Eva Melo\nM5,Eva Melo\nM6,Eva Melo\n", "--event", "1")
	p := browse(t)
	p.signIn(w.link(), "Bia")
	p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words"), writing("#find-words", "melo"))
	p.until(`document.querySelectorAll('#find-list button').length === 5 && document.getElementById('find-says').textContent.includes('There are more')`)
	p.run(`document.getElementById('find-words').value = ''`)
	p.do(writing("#find-words", "caio"))
	p.until(`document.querySelector('#find-list .kept')?.textContent === 'Not paid' && document.querySelector('#find-list button').textContent === 'Check'`)
}

func TestScansWaitInThePhoneWhileTheLaptopIsAway(t *testing.T) {
	w, p := atDoor(t)
	p.until(`document.getElementById('count-expected').textContent === '3'`)
	w.down()
	p.types("K7QP2M", kb.Enter)
	p.sees("unreachable", "Not decided")
	if colour, _ := p.looks(); colour == "rgb(31, 122, 61)" {
		t.Error("what was not decided is green")
	}
	p.next() // let in
	p.letsInAlone("C3")
	p.keepsOut("B2XX91")
	p.until(`document.getElementById('away').innerText.includes('2')`)
	w.up()
	p.do(chromedp.Reload(), chromedp.WaitVisible("#code")) // the queue outlives the page
	p.until(`['Decided here, but the laptop says otherwise', 'Not paid'].every(words => document.getElementById('differs').innerText.includes(words))`)
	p.until(`document.getElementById('count-in').textContent === '2'`)
	if n := w.admissions(); n != 2 {
		t.Errorf("the store has %d check-ins, want those of the two who were let in", n)
	}
	p.do(chromedp.WaitVisible("#waiting-list button"), chromedp.Click("#waiting-list button")) // who was held is asked about now
	p.sees("admitted")
	p.until(`document.getElementById('count-in').textContent === '3'`)
}

// setClock sets the phone's clock ahead.
func (p *phone) setClock(ahead time.Duration) {
	p.run(fmt.Sprintf(`{
		const Right = Date, ahead = %d;
		window.Date = class extends Right {
			constructor(...given) { super(...(given.length > 0 ? given : [Right.now() + ahead])); }
			static now() { return Right.now() + ahead; }
		};
	}`, ahead.Milliseconds()))
}

// TestAPhoneWithAWrongClockTellsWhenADoorScanned: the time of a scan is that of the laptop.
func TestAPhoneWithAWrongClockTellsWhenADoorScanned(t *testing.T) {
	_, p := atDoor(t)
	p.setClock(24 * time.Hour)
	p.types("K7QP2M", kb.Enter)
	p.sees("admitted")
	p.next()
	p.until(`document.getElementById('doors').innerText.includes('1 in')`)
	p.until(`!document.getElementById('doors').innerText.includes('hours ago')`)
}

// TestAPhoneWithAWrongClockShowsTheLaptopsTime in its list of scans, as in the words about a ticket that is in.
func TestAPhoneWithAWrongClockShowsTheLaptopsTime(t *testing.T) {
	proof.Only(t, manyPages)
	_, p := atDoor(t)
	p.setClock(3 * time.Hour)
	p.types("K7QP2M", kb.Enter)
	p.sees("admitted")
	p.next()
	p.until(`[0, 60_000].some(late => document.querySelector('#last .quiet').textContent.startsWith(
		new Date(Date.now() - 3 * 3600_000 - late).toLocaleTimeString('en', {hour: 'numeric', minute: '2-digit', timeZone: localStorage.zone?.includes('/') ? localStorage.zone : undefined}) + ' ·'))`)
}

// TestAPhoneWithAWrongClockScansForToday: a scan that waits has the time of the laptop, not that of a phone which is a day behind. An event that admits
// once a day would let the guest in again.
func TestAPhoneWithAWrongClockScansForToday(t *testing.T) {
	w, p := atDoor(t)
	p.setClock(-24 * time.Hour)
	p.types("C3", kb.Enter) // the answer says what time it is
	p.sees("unpaid")
	p.next()
	w.down()
	p.letsInAlone("K7QP2M")
	p.until(`document.getElementById('away').innerText.includes('1')`)
	w.up()
	p.do(chromedp.Reload(), chromedp.WaitVisible("#code"))
	p.until(`document.getElementById('count-in').textContent === '1'`)
	if n, at := w.checkins(); n != 1 || time.Since(at).Abs() > 5*time.Minute {
		t.Errorf("the store has %d check-ins, one of %s, want one of now", n, at)
	}
}

// TestScansWaitForALostAnswer: the laptop has let the guest in, and its answer never came. Asked again it says so, and not that the guest was in before.
func TestScansWaitForALostAnswer(t *testing.T) {
	w, p := atDoor(t)
	p.do(chromedp.Evaluate(`(() => {
		const real = window.fetch;
		window.fetch = async (path, options) => {
			const answer = await real(path, options);
			if (!path.includes('/scan/')) return answer;
			window.fetch = real;
			throw new TypeError('lost');
		};
	})()`, nil))
	p.types("K7QP2M", kb.Enter)
	p.sees("unreachable")
	p.do(chromedp.Click("#result-acts button:last-child"), chromedp.WaitVisible("#waiting-list button"), chromedp.Click("#waiting-list button"))
	p.sees("admitted", "Ana S.")
	p.until(`document.getElementById('waiting').hidden`)
	if n := w.admissions(); n != 1 {
		t.Errorf("the store has %d check-ins, want one", n)
	}
}

// TestTheLaptopsWordMovesNoButton: that the laptop is out of reach, and that it is back, moves nothing which a finger is about to tap.
func TestTheLaptopsWordMovesNoButton(t *testing.T) {
	w, p := atDoor(t)
	w.down()
	p.types("K7QP2M", kb.Enter)
	p.sees("unreachable")
	p.do(chromedp.Click("#result-acts button:last-child"), chromedp.WaitVisible("#waiting-list button"), chromedp.WaitVisible("#away"))
	top := func() (y float64) {
		p.do(chromedp.Evaluate(`document.querySelector('#waiting-list button').getBoundingClientRect().top`, &y))
		return y
	}
	away := top()
	w.up()
	p.until(`document.getElementById('away').hidden`)
	if near := top(); near != away {
		t.Errorf("a button lies at %v while the laptop is away, and at %v when it is back", away, near)
	}
	p.do(chromedp.Click("#waiting-list button"))
	p.sees("admitted", "Ana S.")
}

func TestARevokedPhoneScansNoMore(t *testing.T) {
	w, p := atDoor(t)
	var keys struct{ Results []key }
	w.run(&keys, "keys", "list")
	if out, err := exec.Command(w.path, "keys", "revoke", fmt.Sprint(keys.Results[len(keys.Results)-1].ID), "--data", w.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.types("K7QP2M", kb.Enter)
	p.until(`document.getElementById('enter-fault').innerText.includes('may not scan any more')`)
	if n := w.admissions(); n != 0 {
		t.Errorf("the store has %d check-ins", n)
	}
}

func TestACameraAndAPhotoReadTickets(t *testing.T) {
	w := newDoorTown(t)
	film := filepath.Join(t.TempDir(), "film.y4m")
	drawFilm(t, film, "K7QP2M")
	p := browse(t, chromedp.Flag("use-fake-device-for-media-stream", true), chromedp.Flag("use-fake-ui-for-media-stream", true), chromedp.Flag("use-file-for-fake-video-capture", film))
	p.signIn(w.link(), "Bia")
	p.do(chromedp.Click("#way-camera"))
	p.sees("admitted", "Ana S.")
	p.do(chromedp.WaitNotVisible("#result"), chromedp.Click("#eye-close"))
	photo := filepath.Join(t.TempDir(), "photo.png")
	if err := qrcode.WriteFile("B2XX91", qrcode.Medium, 300, photo); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.SetUploadFiles("#photo", []string{photo}))
	p.sees("admitted", "Bia S.")
	p.do(chromedp.WaitNotVisible("#result"))
	blank := filepath.Join(t.TempDir(), "blank.png")
	drawBlank(t, blank)
	p.run(`document.getElementById('last').style.paddingBottom = '100vh', scrollTo(0, 9999)`) // the lists are long, and were read to their end
	p.do(chromedp.SetUploadFiles("#photo", []string{blank}))
	p.until(`document.getElementById('eye-says').innerText.includes('No code')`)
	p.until(`document.getElementById('eye').getBoundingClientRect().top >= 0`)
}

// drawBlank writes a picture that shows nothing.
func drawBlank(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(png.Encode(f, image.NewGray(image.Rect(0, 0, 200, 200))), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// drawFilm writes a film of a second in which a QR code is held before the camera.
func drawFilm(t *testing.T, file, code string) {
	t.Helper()
	q, err := qrcode.New(code, qrcode.Medium)
	if err != nil {
		t.Fatal(err)
	}
	const w, h, size = 640, 480, 320
	m := q.Image(size)
	frame := make([]byte, w*h*3/2)
	for i := range frame {
		frame[i] = 128
	}
	for y := range size {
		for x := range size {
			frame[(y+80)*w+x+160] = color.GrayModel.Convert(m.At(x, y)).(color.Gray).Y
		}
	}
	out := []byte(fmt.Sprintf("YUV4MPEG2 W%d H%d F10:1 Ip A1:1 C420jpeg\n", w, h))
	for range 10 {
		out = append(append(out, "FRAME\n"...), frame...)
	}
	if err := os.WriteFile(file, out, 0o600); err != nil {
		t.Fatal(err)
	}
}
