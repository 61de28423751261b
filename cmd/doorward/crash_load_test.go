package main

import (
	"doorward/kv/kvtest"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
)

// round is the life of one server: what its clients sent and were answered.
type round struct {
	*crashWorld
	n       int
	url     string
	fuse    *fuse
	clients []*crashClient
}

// crashClient is one client of a round. Only it and, after it has ended, the checks touch what it remembers.
type crashClient struct {
	*round
	number  int
	draw    *rand.Rand
	http    *http.Client
	visits  []*visit
	persons []*person1
	sends   int
	answers int
}

// visit is a code that a client brought to the door.
type visit struct {
	code, key string
	atDoor    bool   // by /door/v1, not /v1
	outcome   string // "" = no answer came
	id, at    string // of the check-in that the answer named
	undo      string // the Idempotency-Key of an undo that was sent
	undone    bool   // and answered
}

// person1 is a person that a client made and changed.
type person1 struct {
	key, name string
	made      string // the answer; "" = none came
	id        int64
	body      string // the last answer
	pending   string // the name in a change that no answer came to
}

func (w *crashWorld) newRound(n int, draw *rand.Rand) *round {
	r := &round{crashWorld: w, n: n}
	for i := range doors + offices {
		r.clients = append(r.clients, &crashClient{round: r, number: i, draw: rand.New(rand.NewPCG(draw.Uint64(), uint64(i))),
			http: &http.Client{Transport: &http.Transport{}}})
	}
	return r
}

func (r *round) sent() (n int) {
	for _, c := range r.clients {
		n += c.sends
	}
	return n
}

func (r *round) answered() (n int) {
	for _, c := range r.clients {
		n += c.answers
	}
	return n
}

// each runs fn for every client at once and waits for all.
func (r *round) each(fn func(*crashClient)) {
	var all sync.WaitGroup
	for _, c := range r.clients {
		all.Go(func() { fn(c) })
	}
	all.Wait()
}

// load lets the clients write until the server is killed.
func (r *round) load() {
	r.each(func(c *crashClient) {
		if c.number < doors {
			c.attend()
		}
		for i := 0; c.edit(i); i++ {
		}
		c.http.CloseIdleConnections()
	})
}

// attend brings the codes of the round to the door: each comes with this client and with one other.
func (c *crashClient) attend() {
	half := c.number % (doors / 2)
	for i := half; i < roundCodes; i += doors / 2 {
		v := &visit{code: crashCode(c.n, i), key: fmt.Sprintf("v-%d-%d-%d", c.n, c.number, i), atDoor: c.draw.IntN(2) == 0}
		if !c.bring(v) {
			return
		}
		if v.outcome == "admitted" && c.draw.IntN(5) == 0 {
			again := &visit{code: v.code, key: v.key + "-again", atDoor: !v.atDoor}
			if !c.takeBack(v) || !c.bring(again) {
				return
			}
		}
	}
}

// bring scans a visit's code and remembers it; false when the server is gone.
func (c *crashClient) bring(v *visit) bool {
	c.visits = append(c.visits, v)
	rep := c.send(c.scanOf(v))
	if rep == nil {
		return false
	}
	v.outcome, v.id, v.at = rep.decision()
	if v.outcome != "admitted" && v.outcome != "already_admitted" || v.id == "" {
		c.Errorf("%s = %d %s", v.code, rep.status, rep.body)
	}
	return true
}

func (c *crashClient) scanOf(v *visit) request1 {
	path := fmt.Sprintf("/v1/event/%d/checkin/", c.event)
	if v.atDoor {
		path = fmt.Sprintf("/door/v1/event/%d/scan/", c.event)
	}
	return request1{"POST", path, fmt.Sprintf(`{"code":%q}`, v.code), v.key}
}

// takeBack undoes a visit.
func (c *crashClient) takeBack(v *visit) bool {
	v.undo = v.key + "-undo"
	rep := c.send(c.undoOf(v))
	if rep != nil && rep.status != 200 {
		c.Errorf("undo of %s = %d %s", v.id, rep.status, rep.body)
	}
	v.undone = rep != nil
	return v.undone
}

func (c *crashClient) undoOf(v *visit) request1 {
	return request1{"POST", fmt.Sprintf("/door/v1/event/%d/undo/", c.event), fmt.Sprintf(`{"checkin_id":%q}`, v.id), v.undo}
}

// edit makes a person and changes it some times; false when the server is gone.
func (c *crashClient) edit(i int) bool {
	p := &person1{key: fmt.Sprintf("p-%d-%d-%d", c.n, c.number, i)}
	p.name = "Person " + p.key
	c.persons = append(c.persons, p)
	rep := c.send(p.create())
	if rep == nil {
		return false
	}
	p.answer(c, rep)
	for n := range c.draw.IntN(4) {
		p.pending = fmt.Sprintf("%s changed %d", p.name, n)
		if rep = c.send(p.change()); rep == nil {
			return false
		}
		if rep.status != 200 {
			c.Errorf("change of a person = %d %s", rep.status, rep.body)
		}
		p.body, p.pending = rep.body, ""
	}
	return true
}

func (p *person1) create() request1 {
	return request1{"POST", "/v1/people/", fmt.Sprintf(`{"full_name":%q,"occupation":"Baker"}`, p.name), p.key}
}

func (p *person1) change() request1 {
	return request1{"PATCH", p.path(), fmt.Sprintf(`{"full_name":%q}`, p.pending), ""}
}

func (p *person1) path() string { return fmt.Sprintf("/v1/people/%d/", p.id) }

// answer remembers the answer to a create.
func (p *person1) answer(c *crashClient, rep *reply) {
	if rep.status != 201 {
		c.Errorf("create of a person = %d %s", rep.status, rep.body)
	}
	p.made, p.body, p.id = rep.body, rep.body, int64(rep.number("id"))
}

// request1 is one request; key is its Idempotency-Key.
type request1 struct{ method, path, body, key string }

// reply is a whole answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// send asks the server; nil where no whole answer came.
func (c *crashClient) send(q request1) *reply {
	r, err := http.NewRequest(q.method, c.url+q.path, strings.NewReader(q.body))
	if err != nil {
		c.Error(err)
		return nil
	}
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth(c.crashWorld.key, c.secret)
	if q.key != "" {
		r.Header.Set("Idempotency-Key", q.key)
	}
	client := c.http
	if client == nil {
		client = http.DefaultClient
	}
	c.sends++
	resp, err := client.Do(r)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it has been read to its end, or broken off
	if err != nil {
		return nil
	}
	c.answers++
	c.fuse.burn()
	return &reply{resp.StatusCode, resp.Header, string(body)}
}

// number is a member of the body.
func (r *reply) number(name string) float64 {
	var m map[string]any
	_ = json.Unmarshal([]byte(r.body), &m) // anything else has no such member
	n, _ := m[name].(float64)
	return n
}

// decision is what either surface decided about a code.
func (r *reply) decision() (outcome, id, at string) {
	return kvtest.Decided(r.status, r.header, r.body)
}
