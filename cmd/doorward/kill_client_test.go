package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"

	"doorward/cmd/doorward/control"
)

// killClient is one client of one life. It asks as a crashClient does.
type killClient struct {
	*crashClient
	k      *killing
	draw   *rand.Rand
	mine   []killUndo // admissions that it may take back
	number int
	steps  int
}

// killUndo is a check-in that can be undone.
type killUndo struct {
	ticket int
	id     string
}

func newKillClient(k *killing, n int) *killClient {
	w := &crashWorld{program: k.program, key: k.key, secret: k.secret, event: k.event}
	return &killClient{
		crashClient: &crashClient{round: &round{crashWorld: w, url: k.server.url}, http: &http.Client{Transport: &http.Transport{}}},
		k:           k, number: n, draw: rand.New(rand.NewPCG(k.seed, uint64(k.life*killDoors+n+1))),
	}
}

// step brings a code, sends one again that was cut off, or takes an admission back; false when the server is gone.
func (c *killClient) step() bool {
	c.steps++
	if n := len(c.mine); n > 0 && c.draw.IntN(6) == 0 {
		u := c.mine[n-1]
		c.mine = c.mine[:n-1]
		return c.undo(u)
	}
	if again, ok := c.k.history.cutOff(c.draw); ok {
		return c.scan(again)
	}
	in := killInput{ticket: c.ticket(), atDoor: c.draw.IntN(2) == 0}
	if c.draw.IntN(2) == 0 {
		in.key = fmt.Sprintf("k-%d-%d-%d", c.k.life, c.number, c.steps)
	}
	return c.scan(in)
}

// ticket draws one of this life's tickets, or an earlier one.
func (c *killClient) ticket() int {
	newest := (c.k.life + 1) * killTickets
	if c.draw.IntN(4) == 0 {
		return c.draw.IntN(newest)
	}
	return newest - 1 - c.draw.IntN(min(newest, 2*killTickets))
}

func killCode(ticket int) string { return crashCode(ticket/roundCodes, ticket%roundCodes) }

func (c *killClient) scan(in killInput) bool {
	at := c.k.history.now()
	rep := c.send(c.scanOf(&visit{code: killCode(in.ticket), key: in.key, atDoor: in.atDoor}))
	if rep == nil {
		c.k.history.open(c.number, in, at)
		return false
	}
	var out killOutput
	out.outcome, out.id, _ = rep.decision()
	out.replayed = rep.header.Get("Idempotency-Replayed") == "true"
	if out.outcome != "admitted" && out.outcome != "already_admitted" {
		c.Errorf("seed %d, life %d: %s = %d %s", c.k.seed, c.k.life, killCode(in.ticket), rep.status, rep.body)
		return false
	}
	c.k.history.note(c.number, in, out, at)
	if out.outcome == "admitted" {
		c.mine = append(c.mine, killUndo{in.ticket, out.id})
	}
	return true
}

func (c *killClient) undo(u killUndo) bool {
	in, at := killInput{ticket: u.ticket, undoes: u.id}, c.k.history.now()
	path := fmt.Sprintf("/door/v1/event/%d/undo/", c.event)
	rep := c.send(request1{method: "POST", path: path, body: fmt.Sprintf(`{"checkin_id":%q}`, u.id)})
	if rep == nil {
		c.k.history.open(c.number, in, at)
		return false
	}
	if rep.status != 200 && rep.status != 404 {
		c.Errorf("seed %d, life %d: undo of %s = %d %s", c.k.seed, c.k.life, u.id, rep.status, rep.body)
		return false
	}
	c.k.history.note(c.number, in, killOutput{outcome: map[int]string{200: "undone", 404: "missing"}[rep.status]}, at)
	return true
}

// verify has the server check its store, through the socket; one that dies meanwhile has said nothing.
func (k *killing) verify() {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return control.Dial(ctx, k.dir, nil) }}}
	resp, err := client.Get("http://doorward/control/verify")
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }() // it is read to its end
	dec := json.NewDecoder(resp.Body)
	for {
		var line struct {
			Result *struct {
				Damaged int
				Damage  []string
			}
		}
		if err := dec.Decode(&line); err != nil {
			if err == io.EOF {
				k.Errorf("seed %d, life %d: verify said nothing", k.seed, k.life)
			}
			return
		}
		if line.Result != nil {
			if line.Result.Damaged > 0 {
				k.Errorf("seed %d, life %d: verify found %v", k.seed, k.life, line.Result.Damage)
			}
			return
		}
	}
}

// account asks a last server for every ticket, and holds its facts against what was ever answered.
func (k *killing) account() {
	var err error
	if k.server, err = k.start(); err != nil {
		k.Errorf("seed %d: %v", k.seed, err)
		return
	}
	defer func() {
		k.server.kill()
		<-k.server.exited
		k.history.died()
	}()
	k.verify()
	c := newKillClient(k, 0)
	defer c.http.CloseIdleConnections()
	for ticket := range killsOfStore * killTickets {
		if !c.scan(killInput{ticket: ticket}) {
			k.Errorf("seed %d: the last server is gone", k.seed)
			return
		}
	}
	r := c.round
	r.clients = []*crashClient{c.crashClient}
	undone, standing, known := map[string]bool{}, map[int64]int{}, map[string]bool{}
	for _, f := range r.facts("undo") {
		undone[f.CheckinID] = true
	}
	for _, f := range r.facts("checkin") {
		known[f.ID] = true
		if undone[f.ID] {
			continue
		}
		if standing[f.Ticket]++; standing[f.Ticket] > 1 {
			k.double++
			k.Errorf("seed %d: ticket %d is admitted %d times", k.seed, f.Ticket, standing[f.Ticket])
		}
	}
	for id := range k.history.admitted() {
		if !known[id] {
			k.lost++
			k.Errorf("seed %d: check-in %s was answered, and is not there", k.seed, id)
		}
	}
}
