package api_test

import (
	"doorward/kv/kvtest"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// racers bring every code to the door: of an equal number of clients each, the first have a key of their own, the second
// share one, the third share one and send the same Idempotency-Key for a code.
const (
	racers     = 32
	racedCodes = 300
)

// racedCode is a code as its ticket has it.
func racedCode(i int) string { return fmt.Sprintf("RACE-%03d-K7QP", i) }

// decided is what a client was told of a code.
type decided struct {
	status   int
	outcome  string
	id, at   string
	replayed bool
}

func TestRaceOfAllClientsForAllCodesAdmitsEachOnce(t *testing.T) {
	w := newWorld(t)
	w.tickets(w.event, racedCodes, racedCode)
	shared := w.as("denomination", "checkin:*")
	told := make([][]decided, racers)
	var all sync.WaitGroup
	start := make(chan struct{})
	for n := range racers {
		c := &racer{wire: shared.wire(), number: n, nonces: n%4 == 3, event: w.event, draw: rand.New(rand.NewPCG(1, uint64(n)))}
		if n%2 == 0 {
			c.wire = w.as(fmt.Sprintf("event:%d", w.event), "checkin:*").wire()
		}
		all.Go(func() {
			<-start
			told[n] = c.run()
		})
	}
	close(start)
	all.Wait()
	admitted := map[string]bool{}
	for i := range racedCodes {
		admitted[judged(t, i, told)] = true
	}
	if len(admitted) != racedCodes {
		t.Errorf("%d check-ins admitted %d codes", len(admitted), racedCodes)
	}
	wantCheckins(t, w, admitted)
}

// racer is one client at the door.
type racer struct {
	*wire
	number int
	nonces bool
	event  int64
	draw   *rand.Rand
}

// run tries every code once, in about the order in which everybody does, by either surface and in a drawn spelling.
func (c *racer) run() []decided {
	told := make([]decided, racedCodes)
	for ten := 0; ten < racedCodes; ten += 10 { // within ten codes everybody has an order of his own
		for k, i := range c.draw.Perm(10) {
			told[ten+i] = c.try(ten+i, k%2 == 0)
		}
	}
	return told
}

func (c *racer) try(i int, atDoor bool) decided {
	path := checkinPath(c.event)
	if atDoor {
		path = fmt.Sprintf("/door/v1/event/%d/scan/", c.event)
	}
	headers := []string{"X-Door", fmt.Sprintf("Door %d", c.number)}
	if c.nonces {
		headers = append(headers, "Idempotency-Key", racedCode(i))
	}
	spelling := []string{racedCode(i), fmt.Sprintf("race %03dk7qp", i), fmt.Sprintf("https://tickets.example/%s/", racedCode(i))}[c.draw.IntN(3)]
	return readDecided(c.ask("POST", path, fmt.Sprintf(`{"code":%q}`, spelling), headers...))
}

// readDecided reads an answer of either surface.
func readDecided(a answer) decided {
	d := decided{status: a.status, replayed: a.header.Get("Idempotency-Replayed") == "true"}
	d.outcome, d.id, d.at = kvtest.Decided(a.status, a.header, a.body)
	return d
}

// judged holds what all clients were told of a code against the contract, and answers the check-in that admitted it.
func judged(t *testing.T, i int, told [][]decided) string {
	t.Helper()
	first := decided{}
	for _, of := range told {
		if d := of[i]; d.outcome == "admitted" && !d.replayed {
			if first.id != "" {
				t.Errorf("%s was admitted twice: %+v and %+v", racedCode(i), first, d)
			}
			first = d
		}
	}
	if first.id == "" || first.at == "" {
		t.Errorf("%s was admitted to nobody", racedCode(i))
	}
	for n, of := range told {
		d := of[i]
		switch {
		case d.id != first.id || d.at != first.at:
			t.Errorf("%s: client %d was told %+v, the admission is %+v", racedCode(i), n, d, first)
		case d.outcome == "admitted" && d.replayed && n%4 != 3:
			t.Errorf("%s: client %d, without an Idempotency-Key, was told %+v", racedCode(i), n, d)
		case d.outcome == "already_admitted" && d.status != 409 && d.status != 200, d.outcome != "admitted" && d.outcome != "already_admitted":
			t.Errorf("%s: client %d was told %+v", racedCode(i), n, d)
		}
	}
	return first.id
}

// tickets imports tickets of an event.
func (w *world) tickets(event int64, n int, code func(int) string) {
	w.Helper()
	csv := "code,holder_name\n"
	for i := range n {
		csv += code(i) + ",Ana Souza\n"
	}
	path := fmt.Sprintf("/admin/v1/import/?kind=ticket&event=%d", event)
	if a := w.status(w.do("POST", path, csv, header("Content-Type", "text/csv"), invalid), 200); a.text(w, "created") != fmt.Sprint(n) {
		w.Fatalf("import = %s", a.body)
	}
}

// wantCheckins wants the check-ins that the store has to be the given ones.
func wantCheckins(t *testing.T, w *world, admitted map[string]bool) {
	t.Helper()
	c := w.wire()
	n := 0
	for offset := 0; offset < racedCodes; offset += 100 {
		var page struct {
			Count   int
			Results []struct{ ID string }
		}
		a := c.ask("GET", fmt.Sprintf("/admin/v1/checkin/?limit=100&offset=%d", offset), "")
		if err := json.Unmarshal([]byte(a.body), &page); err != nil || page.Count != len(admitted) {
			t.Fatalf("the store has %s, want %d check-ins", a.body, len(admitted))
		}
		for _, f := range page.Results {
			if !admitted[f.ID] {
				t.Errorf("check-in %s was answered to nobody", f.ID)
			}
			n++
		}
	}
	if n != len(admitted) {
		t.Errorf("the list has %d check-ins, want %d", n, len(admitted))
	}
}
