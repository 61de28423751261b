package rehearsal

import (
	"maps"
	"slices"
	"time"
)

// The outcomes that say that a guest is in.
const (
	admitted = "admitted"
	already  = "already_admitted"
)

// tally counts what helpers have seen.
type tally struct {
	outcomes   map[string]int
	admissions map[string]int64          // check-in → ticket
	first      map[int64]map[string]bool // ticket → check-ins that were answered as its first
	times      []time.Duration           // of the scans that were answered at once
	before     int                       // check-ins of the event that there were before
	cuts       int
	kept       int
	handed     int
	differ     int // of those handed in, that came back other than admitted
	doubles    int // of those, that are in the list of double entries
}

func newTally() tally {
	return tally{outcomes: map[string]int{}, admissions: map[string]int64{}, first: map[int64]map[string]bool{}}
}

func (t *tally) took(d time.Duration) { t.times = append(t.times, d) }

// note counts a ruling.
func (t *tally) note(of ticket, r ruling) {
	if r.Outcome == "" {
		r.Outcome = "error"
	}
	t.outcomes[r.Outcome]++
	if r.Double != nil {
		t.doubles++
	}
	if r.Outcome == admitted && r.Checkin != nil {
		t.admit(*r.Checkin, of.ID)
	}
}

func (t *tally) admit(checkin string, of int64) {
	t.admissions[checkin] = of
	if t.first[of] == nil {
		t.first[of] = map[string]bool{}
	}
	t.first[of][checkin] = true
}

// add adds what another helper has seen.
func (t *tally) add(o tally) {
	for name, n := range o.outcomes {
		t.outcomes[name] += n
	}
	for checkin, of := range o.admissions {
		t.admit(checkin, of)
	}
	t.times = append(t.times, o.times...)
	t.cuts += o.cuts
	t.kept += o.kept
	t.handed += o.handed
	t.differ += o.differ
	t.doubles += o.doubles
}

// twice counts the tickets that were admitted more than once.
func (t *tally) twice() (n int) {
	for of := range maps.Values(t.first) {
		if len(of) > 1 {
			n++
		}
	}
	return n
}

// lost counts the admissions that were answered and are not in the store.
func (t *tally) lost(store map[string]bool) (n int) {
	for checkin := range t.admissions {
		if !store[checkin] {
			n++
		}
	}
	return n
}

// share is the time within which so large a share of the scans was answered.
func (t *tally) share(of float64) time.Duration {
	if len(t.times) == 0 {
		return 0
	}
	slices.Sort(t.times)
	return t.times[min(len(t.times)-1, int(of*float64(len(t.times))))]
}
