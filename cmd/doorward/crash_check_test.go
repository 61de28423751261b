package main

import (
	"encoding/json"
	"fmt"
)

// check holds what a restarted server has against what its clients were answered before it was killed.
func (r *round) check() {
	var found struct{ Damaged int }
	r.run(&found, "verify") // fails on damage
	r.each(func(c *crashClient) {
		for _, v := range c.visits {
			c.remembered(v)
		}
		for _, p := range c.persons {
			c.kept(p)
		}
	})
	r.each(func(c *crashClient) {
		for _, v := range c.visits {
			c.retry(v)
		}
		for _, p := range c.persons {
			c.remade(p)
		}
	})
	r.tally()
	r.each(func(c *crashClient) { c.http.CloseIdleConnections() })
}

// ask sends a request that must be answered.
func (c *crashClient) ask(q request1) *reply {
	rep := c.send(q)
	if rep == nil {
		c.Errorf("%s %s was not answered", q.method, q.path)
		return &reply{}
	}
	return rep
}

// remembered wants the check-in that an answer named, whoever was admitted by it.
func (c *crashClient) remembered(v *visit) {
	if v.outcome == "" {
		return
	}
	rep := c.ask(request1{method: "GET", path: "/admin/v1/checkin/" + v.id + "/"})
	var fact struct{ ID, At string }
	if err := json.Unmarshal([]byte(rep.body), &fact); err != nil || rep.status != 200 || fact.ID != v.id || fact.At != v.at {
		c.Errorf("%s was answered %s by %s at %s; now there is %d %s", v.code, v.outcome, v.id, v.at, rep.status, rep.body)
	}
}

// kept wants a person as it was last answered, or as the change under way wanted it.
func (c *crashClient) kept(p *person1) {
	if p.made == "" {
		return
	}
	rep := c.ask(request1{method: "GET", path: p.path()})
	var is struct {
		Name string `json:"full_name"`
	}
	_ = json.Unmarshal([]byte(rep.body), &is) // anything else has no name
	if rep.body != p.body && (p.pending == "" || is.Name != p.pending) {
		c.Errorf("a person was answered as %.60s…, then perhaps named %q; now there is %d %.60s…", p.body, p.pending, rep.status, rep.body)
	}
}

// retry sends again, under the same keys, what may have been written: what was answered is answered the same.
func (c *crashClient) retry(v *visit) {
	if v.undo != "" {
		c.retryUndo(v)
		return // its check-in is no answer any more
	}
	outcome, id, at := c.ask(c.scanOf(v)).decision()
	if v.outcome == "admitted" && (outcome != v.outcome || id != v.id || at != v.at) {
		c.Errorf("%s was admitted by %s at %s; again: %s %s %s", v.code, v.id, v.at, outcome, id, at)
	}
	if outcome != "admitted" && outcome != "already_admitted" {
		c.Errorf("%s again: %q", v.code, outcome)
	}
	v.outcome, v.id, v.at = outcome, id, at
}

// retryUndo wants an undo that was answered to be the same again; one that was not happens now, if it has not.
func (c *crashClient) retryUndo(v *visit) {
	rep := c.ask(c.undoOf(v))
	outcome, id, _ := rep.decision()
	if replayed := rep.header.Get("Idempotency-Replayed") == "true"; outcome != "undone" || id != v.id || v.undone && !replayed {
		c.Errorf("undo of %s again (answered before: %v) = %d %s", v.id, v.undone, rep.status, rep.body)
	}
}

// remade wants a create's answer again, or now.
func (c *crashClient) remade(p *person1) {
	rep := c.ask(p.create())
	if p.made != "" && (rep.status != 201 || rep.body != p.made || rep.header.Get("Idempotency-Replayed") != "true") {
		c.Errorf("a person was made as %.60s…; again: %d %.60s…", p.made, rep.status, rep.body)
	}
	p.answer(c, rep)
}

// fact1 is a check-in or an undo as the admin surface shows it.
type fact1 struct {
	ID        string
	Ticket    int64  `json:"ticket_id"`
	CheckinID string `json:"checkin_id"`
}

// tally counts all there is: no ticket has two admissions that stand, no check-in two undos, and nothing is there twice.
func (r *round) tally() {
	undone := map[string]int{}
	for _, f := range r.facts("undo") {
		undone[f.CheckinID]++
	}
	standing, known := map[int64]string{}, map[string]bool{}
	checkins := r.facts("checkin")
	for _, f := range checkins {
		known[f.ID] = true
		if undone[f.ID] > 0 {
			continue
		}
		if other := standing[f.Ticket]; other != "" {
			r.Errorf("ticket %d is admitted by %s and by %s", f.Ticket, other, f.ID)
		}
		standing[f.Ticket] = f.ID
	}
	r.admissions += r.newAdmissions()
	if len(checkins) != r.admissions || len(known) != r.admissions {
		r.Errorf("%d check-ins (%d different), want %d: each that was ever answered, and no other", len(checkins), len(known), r.admissions)
	}
	r.tallyUndos(undone)
	c := r.clients[0]
	for _, c := range r.clients {
		r.people += len(c.persons)
	}
	if n := int(c.ask(request1{method: "GET", path: "/v1/people/?limit=1"}).number("count")); n != r.people {
		r.Errorf("%d people, want %d: one for each Idempotency-Key", n, r.people)
	}
}

// newAdmissions are the check-ins that the round's clients know of, now that every visit has had its answer.
func (r *round) newAdmissions() int {
	named := map[string]bool{}
	for _, c := range r.clients {
		for _, v := range c.visits {
			named[v.id] = true
		}
	}
	return len(named)
}

func (r *round) tallyUndos(undone map[string]int) {
	for _, c := range r.clients {
		for _, v := range c.visits {
			if v.undo == "" {
				continue
			}
			r.undos++
			if undone[v.id] != 1 {
				r.Errorf("check-in %s has %d undos, want 1", v.id, undone[v.id])
			}
		}
	}
	if len(undone) != r.undos {
		r.Errorf("%d check-ins are undone, want %d", len(undone), r.undos)
	}
}

// facts are all facts of a kind.
func (r *round) facts(kind string) (all []fact1) {
	const limit = 100
	for {
		rep := r.clients[0].ask(request1{method: "GET", path: fmt.Sprintf("/admin/v1/%s/?limit=%d&offset=%d", kind, limit, len(all))})
		var page struct {
			Count   int
			Results []fact1
		}
		if err := json.Unmarshal([]byte(rep.body), &page); err != nil {
			r.Errorf("list of %s = %s", kind, rep.body)
			return all
		}
		all = append(all, page.Results...)
		if len(all) >= page.Count || len(page.Results) == 0 {
			return all
		}
	}
}
