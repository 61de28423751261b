package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

// cutJob is an image of a store's folder and what it must hold: what any one of the wants says.
type cutJob struct {
	Dir   string
	Wants []cutWants
}

// cutWants is what a store must hold after a power cut.
type cutWants struct {
	Checkins []string // ids that were answered
	Open     int      // at most so many others: asked for, and not answered before the cut
	Key      string   // must log in with the secret; "" = none
	Secret   string
	Tickets  int      // at least
	Kept     []string // check-ins that a file kept beside the store holds; nil = none need be
	Event    int64    // 0 = no code is tried
	Used     string   // a code that was answered 204; "" = none
	Fresh    string   // a code that nobody asked about
}

// cutVerdict is what was found.
type cutVerdict struct {
	Problem string // "" = all is well
	Lost    int    // acknowledged and not there
	Double  int    // cutTickets admitted twice
}

// checkImages is the child that opens images: one that ends it, by a fault of memory access say, is known by that.
func checkImages() {
	debug.SetPanicOnFault(true)
	jobs, answers := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	for {
		var j cutJob
		if jobs.Decode(&j) != nil {
			return
		}
		v := j.check()
		if answers.Encode(v) != nil {
			return
		}
	}
}

func (j *cutJob) check() (v cutVerdict) {
	s, err := kv.Open(kv.Config{Dir: j.Dir})
	if err != nil {
		return cutVerdict{Problem: err.Error(), Lost: len(j.Wants[0].Checkins)}
	}
	defer func() {
		if err := s.Close(); err != nil && v.Problem == "" {
			v.Problem = err.Error()
		}
	}()
	rep, err := s.Files.Verify(auth.Operator(), nil)
	if err != nil || rep.Damaged > 0 {
		return cutVerdict{Problem: fmt.Sprintf("verify: %v, %d damaged: %q", err, rep.Damaged, rep.Damage)}
	}
	for _, w := range j.Wants {
		if v = w.check(s); v.Problem == "" {
			return v
		}
	}
	return v
}

// check holds a store against one of the wants, and last writes to it.
func (w *cutWants) check(s *kv.Store) (v cutVerdict) {
	there, double, err := admissions(s)
	if err != nil {
		return cutVerdict{Problem: err.Error()}
	}
	if double > 0 {
		return cutVerdict{Problem: "tickets are admitted twice", Double: double}
	}
	if lost := missing(w.Checkins, there); lost > 0 {
		return cutVerdict{Problem: fmt.Sprintf("%d of %d acknowledged check-ins are lost", lost, len(w.Checkins)), Lost: lost}
	}
	if len(there) > len(w.Checkins)+w.Open {
		return cutVerdict{Problem: fmt.Sprintf("%d check-ins, want at most %d", len(there), len(w.Checkins)+w.Open)}
	}
	if w.Key != "" {
		if _, err := s.Keys.Login(w.Key, w.Secret); err != nil {
			return cutVerdict{Problem: "a key that was shown does not log in", Lost: 1}
		}
	}
	if ids, err := s.Desk.IDs(auth.Operator(), record.Ticket); err != nil || len(ids) < w.Tickets {
		return cutVerdict{Problem: fmt.Sprintf("%d of %d imported tickets, %v", len(ids), w.Tickets, err), Lost: 1}
	}
	if w.Kept != nil && !kept1(s.Tables.Folder.Dir, w.Kept) {
		return cutVerdict{Problem: "no file beside the store holds what it held before", Lost: len(w.Kept)}
	}
	return w.goOn(s)
}

// goOn checks in: who was admitted before the cut is not admitted again, and others are.
func (w *cutWants) goOn(s *kv.Store) cutVerdict {
	for code, want := range map[string]outcome.Outcome{w.Used: outcome.AlreadyAdmitted, w.Fresh: outcome.Admitted} {
		if w.Event == 0 || code == "" {
			continue
		}
		if d, err := s.Door.CheckIn(auth.Operator(), door.Attempt{Event: w.Event, Code: code}); err != nil || d.Outcome != want {
			v := cutVerdict{Problem: fmt.Sprintf("check-in of %s after the cut: %q, %v, want %s", code, d.Outcome, err, want)}
			if d.Outcome == outcome.Admitted {
				v.Double = 1
			}
			return v
		}
	}
	return cutVerdict{}
}

// admissions are the check-ins of a store by their ids, and how many tickets have more than one.
func admissions(s *kv.Store) (there map[string]bool, double int, err error) {
	there, of := map[string]bool{}, map[int64]int{}
	err = s.Log.Export(auth.Operator(), record.Checkin, func(text []byte) error {
		var f fact1
		if err := json.Unmarshal(text, &f); err != nil {
			return err
		}
		if there[f.ID] = true; f.Ticket != 0 {
			of[f.Ticket]++
		}
		return nil
	})
	for _, n := range of {
		if n > 1 {
			double++
		}
	}
	return there, double, err
}

func missing(ids []string, there map[string]bool) (n int) {
	for _, id := range ids {
		if !there[id] {
			n++
		}
	}
	return n
}

// kept1 tells whether one of the files that are kept beside a store holds check-ins.
func kept1(dir string, ids []string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "doorward-*.db")) // the pattern is right
	for _, file := range files {
		if holds, err := fileHolds(file, ids); err == nil && holds {
			return true
		}
	}
	return false
}

func fileHolds(file string, ids []string) (holds bool, err error) {
	dir, err := os.MkdirTemp(filepath.Dir(file), "kept")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Link(file, table.Path(dir)); err != nil {
		return false, err
	}
	s, err := kv.Open(kv.Config{Dir: dir, Aside: true})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	there, _, err := admissions(s)
	return missing(ids, there) == 0, err
}
