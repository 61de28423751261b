package main

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// killInput is what a client wants of a ticket: to check it in, under an Idempotency-Key or none, or to take a check-in back.
type killInput struct {
	ticket int
	key    string
	atDoor bool
	undoes string
}

// killOutput is what it was told; outcome is "" where the server died first.
type killOutput struct {
	outcome, id string
	replayed    bool
}

// killHistory is all that clients have asked of a store, and were told.
type killHistory struct {
	mu      sync.Mutex
	start   time.Time
	all     []porcupine.Operation
	pending []int       // those of all that the present server has not answered: they end with it
	again   []killInput // cut off, to be sent again under their keys
	cut     int
}

func newKillHistory() *killHistory { return &killHistory{start: time.Now()} }

func (h *killHistory) now() int64 { return int64(time.Since(h.start)) }

// note adds what was answered.
func (h *killHistory) note(client int, in killInput, out killOutput, called int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: called, Return: h.now()})
}

// open adds what nobody answered.
func (h *killHistory) open(client int, in killInput, called int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending = append(h.pending, len(h.all))
	h.all = append(h.all, porcupine.Operation{ClientId: client, Input: in, Output: killOutput{}, Call: called, Return: math.MaxInt64})
	h.cut++
	if in.key != "" {
		h.again = append(h.again, in)
	}
}

// died says that the server is dead: what it has not done by now it will never do.
func (h *killHistory) died() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, i := range h.pending {
		h.all[i].Return = h.now()
	}
	h.pending = nil
}

// cutOff draws a request that was cut off, once.
func (h *killHistory) cutOff(draw *rand.Rand) (killInput, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.again) == 0 || draw.IntN(3) > 0 {
		return killInput{}, false
	}
	in := h.again[0]
	h.again = h.again[1:]
	return in, true
}

// admitted are the check-ins that any answer named.
func (h *killHistory) admitted() map[string]bool {
	ids := map[string]bool{}
	for _, op := range h.all {
		if out := op.Output.(killOutput); out.id != "" {
			ids[out.id] = true
		}
	}
	return ids
}

// register is a ticket: which check-in stands, and by which Idempotency-Key. A check-in that nobody was told of is unknown.
type register struct{ standing, by string }

const unknown = "?"

// after are the registers that there may be after an operation: none where it could not have been answered so, two where nobody
// knows whether it was done.
func (r register) after(in killInput, out killOutput) []any {
	var next register
	switch free, known := r.standing == "", r.standing == out.id || r.standing == unknown; out.outcome {
	case "":
		return r.perhaps(in)
	case "admitted":
		again := out.replayed && in.key != "" && r.by == in.key && known
		next = register{out.id, in.key}
		if !again && (out.replayed || !free) {
			return nil
		}
	case "already_admitted":
		next = register{out.id, r.by}
		if free || !known {
			return nil
		}
	case "undone", "missing":
		if (r.standing == in.undoes) != (out.outcome == "undone") {
			return nil
		}
		if next = r; out.outcome == "undone" {
			next = register{}
		}
	}
	return []any{next}
}

// perhaps are the registers after an operation that was cut off.
func (r register) perhaps(in killInput) []any {
	switch {
	case in.undoes != "" && r.standing == in.undoes:
		return []any{r, register{}}
	case in.undoes == "" && r.standing == "":
		return []any{r, register{unknown, in.key}}
	}
	return []any{r}
}

// tickets are registers: each has a history of its own, and starts without a check-in.
var tickets = (&porcupine.NondeterministicModel{
	Partition: func(all []porcupine.Operation) (parts [][]porcupine.Operation) {
		by := map[int]int{}
		for _, op := range all {
			ticket := op.Input.(killInput).ticket
			i, ok := by[ticket]
			if !ok {
				i = len(parts)
				by[ticket], parts = i, append(parts, nil)
			}
			parts[i] = append(parts[i], op)
		}
		return parts
	},
	Init: func() []any { return []any{register{}} },
	Step: func(state, input, output any) []any {
		return state.(register).after(input.(killInput), output.(killOutput))
	},
}).ToModel()

// judge wants an order of all operations that one register a ticket would answer so.
func (h *killHistory) judge(k *killing) {
	for _, part := range tickets.Partition(h.all) {
		if porcupine.CheckOperationsTimeout(tickets, part, time.Minute) == porcupine.Ok {
			continue
		}
		k.lost++
		k.Errorf("seed %d: no order of these explains the answers about ticket %s", k.seed, killCode(part[0].Input.(killInput).ticket))
		for _, op := range part {
			k.Logf("%12d to %12d: %+v = %+v", op.Call, op.Return, op.Input, op.Output)
		}
	}
}
