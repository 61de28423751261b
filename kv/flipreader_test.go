package kv_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/table"
)

// readFlips is the child: it answers each line that it reads.
func readFlips(file string) error {
	sound, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r, err := newReading(os.TempDir(), sound)
	if err != nil {
		return err
	}
	fmt.Println(flipReady)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var f flip
		if _, err := fmt.Sscan(lines.Text(), &f.offset, &f.bit); err != nil {
			return err
		}
		verified, answered, err := r.read(f.of(sound))
		if err != nil {
			return err
		}
		fmt.Println(oneLine(verified) + "\t" + oneLine(answered))
	}
	return lines.Err()
}

// reading is what a reader knows of the sound file.
type reading struct {
	above     string // where each file gets a folder of its own: a store that fails to open may keep its file locked
	dir       string
	rows      string
	questions []question
	answers   []string
	clock     time.Time
}

func newReading(dir string, sound []byte) (r *reading, err error) {
	r = &reading{above: dir, clock: time.Now()}
	if err := r.put(sound); err != nil {
		return nil, err
	}
	rows, err := rawRows(table.Path(r.dir))
	if err != nil {
		return nil, err
	}
	r.rows = string(rows)
	s, err := kv.Open(r.config(nil))
	if err != nil {
		return nil, err
	}
	r.questions = questions(s)
	for _, q := range r.questions {
		answer, err := q.ask(s)
		r.answers = append(r.answers, asText([]any{answer, fmt.Sprint(err)}))
	}
	return r, s.Close()
}

// put writes a file for the store to open, in the place of the one before.
func (r *reading) put(image []byte) error {
	err := os.RemoveAll(r.dir)
	if err == nil {
		r.dir, err = os.MkdirTemp(r.above, "")
	}
	return errors.Join(err, os.WriteFile(table.Path(r.dir), image, 0o600))
}

func (r *reading) config(registry prometheus.Registerer) kv.Config {
	return kv.Config{Dir: r.dir, Aside: true, Clock: func() time.Time { return r.clock }, Registerer: registry}
}

func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\t", " ").Replace(s) }

// read verifies a damaged file, and asks it everything.
func (r *reading) read(image []byte) (verified, answered string, err error) {
	if err := r.put(image); err != nil {
		return "", "", err
	}
	registry := prometheus.NewRegistry()
	s, err := kv.Open(r.config(registry))
	if errors.Is(err, engine.ErrCorrupt) {
		return "found", "right", nil
	}
	if err != nil {
		return "", fmt.Sprint("Open = ", err), nil
	}
	opened := counted(registry)
	report, failed := s.Files.Verify(auth.Operator(), nil)
	before := counted(registry)
	answered = r.ask(s, func() bool { return opened > 0 || counted(registry) > before })
	if err := s.Close(); err != nil {
		answered = fmt.Sprint("Close = ", err)
	}
	if failed != nil || report.Damaged > 0 {
		return "found", answered, nil
	}
	verified, err = r.compare(image)
	return verified, answered, err
}

// compare tells whether a file in which verify finds nothing holds what the sound one does.
func (r *reading) compare(image []byte) (string, error) {
	if err := r.put(image); err != nil {
		return "", err
	}
	rows, err := rawRows(table.Path(r.dir))
	if err != nil || string(rows) != r.rows {
		return fmt.Sprintf("verify finds nothing, but the rows are others: %v", err), nil
	}
	return "nothing changed", nil
}

// ask asks the store everything.
func (r *reading) ask(s *kv.Store, counted func() bool) string {
	corrupt := ""
	for i, q := range r.questions {
		answer, err := q.ask(s)
		if errors.Is(err, engine.ErrCorrupt) {
			corrupt = q.name
			continue
		}
		got := asText([]any{answer, fmt.Sprint(err)})
		if got != r.answers[i] && !(counted() && (q.without || nameless(got) == nameless(r.answers[i]))) {
			return fmt.Sprintf("%s is answered %s, want %s", q.name, near(got, r.answers[i]), near(r.answers[i], got))
		}
	}
	if corrupt != "" && !counted() {
		return corrupt + " meets damage, which is not counted"
	}
	return "right"
}

// nameless is an answer without the names of what a record refers to: one that is damaged is shown without.
func nameless(answer string) string { return referred.ReplaceAllString(answer, "$1") }

var referred = regexp.MustCompile(`(\\"id\\":\d+),\\"name\\":(null|\\"[^"]*")`)

// near is what a text says where it begins to differ from another.
func near(text, other string) string {
	at := 0
	for at < min(len(text), len(other)) && text[at] == other[at] {
		at++
	}
	return fmt.Sprintf("…%.200s", text[max(0, at-30):])
}

// counted is the metric of damaged reads.
func counted(registry *prometheus.Registry) float64 {
	families, _ := registry.Gather() // a gauge that meets the damage itself is an error, and the others are there
	for _, f := range families {
		if f.GetName() == "doorward_store_corrupt_reads_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return 0
}
