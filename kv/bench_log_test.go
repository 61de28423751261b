package kv_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"doorward/api"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/disk"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// What is measured of the log: a door that admits one after the other, so many starts, so much to replay, and so long a mixed load. The long one,
// of DOORWARD_BENCH_MINUTES, is slower at the doors, so that the tickets last, and adds a hundred people at a time.
const (
	logScans  = 600
	logPace   = 40 * time.Millisecond
	logStarts = 3
	logReplay = 15 << 19 // a fold would begin at 8 MiB
	logMixed  = 20 * time.Second
	longScans = 20 * time.Millisecond
	longGrows = 100 * time.Millisecond
)

// benchLog measures what the log and its folds cost: what one change gives to the disk, starts, and pauses.
func benchLog(t *testing.T, b *bench) {
	b.create(t)
	b.bytesOfCheckIn(t)
	b.startsOnce(t)
	b.startsKilled(t)
	b.pauses(t)
}

// create measures new people over HTTP.
func (b *bench) create(t *testing.T) {
	server, err := api.New(api.Config{Store: b.store})
	if err != nil {
		t.Fatal(err)
	}
	addr := serve(t, server.Handler())
	body := fmt.Sprintf(`{"full_name":"Nova Pessoa %s","church_id":%d,"phone":"+55 11 98765-4321","occupation":"Engenheiro"}`, strings.Repeat(string(mark), 8), b.church)
	text := fmt.Sprintf("POST /v1/people/ HTTP/1.1\r\nHost: %s\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", addr, basic(b.read), len(body)) + body
	all := wires(t, addr, benchClients)
	var pairs []pair
	for range benchRounds + 1 {
		rate := rateOf(t, len(all), func(i int) func() (bool, error) {
			request := copyOf(text)
			return func() (bool, error) {
				return true, expect(all[i], request.with(rand.IntN(100_000_000)), http.StatusCreated)
			}
		})
		pairs = append(pairs, pair{ours: rate})
	}
	b.table.add(line{name: "HTTP create a person, " + plural(benchClients, "connection"), unit: "/s", pairs: pairs[1:]}) // the first warms up
}

// admits admits one ticket after another at a steady pace until something else has run, and answers how long each took from the moment it was due.
func (b *bench) admits(t *testing.T, pace time.Duration, run func()) []time.Duration {
	t.Helper()
	b.nextDay()
	i := -1
	return kvtest.Paced(t, pace, run, func() func() error {
		i++
		n := i
		return func() error { return b.admit(n) }
	})
}

// bytesOfCheckIn measures what the disk is given for a check-in at a quiet door, a fold of all of them included.
func (b *bench) bytesOfCheckIn(t *testing.T) {
	b.fold(t)
	before := givenToDisk(t)
	n := len(b.admits(t, logPace, func() { <-time.After(logScans * logPace) }))
	b.fold(t)
	b.table.add(line{name: "bytes that the disk is given for a check-in, 25 a second", unit: " KiB", atMost: 16, bare: true,
		pairs: []pair{{ours: float64(givenToDisk(t)-before) / float64(n) / 1024}}})
}

func (b *bench) fold(t *testing.T) {
	t.Helper()
	if err := b.store.Tables.Engine.Fold(); err != nil {
		t.Fatal(err)
	}
}

// givenToDisk is how many bytes this process has given to disks; 0 where the system does not tell.
func givenToDisk(t *testing.T) (n int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nwrite_bytes: ")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// startsOnce measures how long a store that was stopped takes until it has answered a check-in.
func (b *bench) startsOnce(t *testing.T) {
	var pairs []pair
	for range logStarts {
		if err := b.store.Close(); err != nil {
			t.Fatal(err)
		}
		b.nextDay()
		start := time.Now()
		s, err := kv.Open(b.config(b.dir))
		if err != nil {
			t.Fatal(err)
		}
		b.store = s
		if err := b.admit(0); err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, pair{ours: time.Since(start).Seconds()})
	}
	b.table.add(line{name: "start to the first answered check-in", unit: "s", pairs: pairs, atMost: 0.35, bare: true})
}

// startsKilled measures how much longer a start takes after a kill with a full log than after a clean stop.
func (b *bench) startsKilled(t *testing.T) {
	image := b.killed(t)
	var pairs []pair
	for range logStarts {
		dir := filepath.Join(t.TempDir(), "killed")
		if err := os.CopyFS(dir, os.DirFS(image)); err != nil {
			t.Fatal(err)
		}
		var took [2]time.Duration
		for i := range took {
			start := time.Now()
			s, err := kv.Open(b.config(dir))
			if err != nil {
				t.Fatal(err)
			}
			took[i] = time.Since(start)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		pairs = append(pairs, pair{ours: float64(took[0]-took[1]) / 1e6})
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	b.table.add(line{name: "start after a kill with 8 MiB to replay: longer than after a stop", unit: "ms", pairs: pairs, atMost: 150, bare: true})
}

// killed is a copy of the store's folder as a kill with a full log leaves it.
func (b *bench) killed(t *testing.T) (dir string) {
	t.Helper()
	e := b.store.Tables.Engine
	for {
		dir = filepath.Join(t.TempDir(), "image")
		b.fold(t)
		b.nextDay()
		for i := 0; e.Figures().Bytes < logReplay; i++ {
			if err := b.admit(i); err != nil {
				t.Fatal(err)
			}
		}
		before := e.Figures()
		if err := os.CopyFS(dir, withoutIndex{os.DirFS(b.dir)}); err != nil {
			t.Fatal(err)
		}
		if e.Figures() == before {
			return dir // no fold began while it was copied
		}
	}
}

// withoutIndex is a folder without what can be made again.
type withoutIndex struct{ fs.FS }

func (w withoutIndex) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(w.FS, name)
	var kept []fs.DirEntry
	for _, e := range all {
		if e.Type().IsRegular() || e.Name() == "log" {
			kept = append(kept, e)
		}
	}
	return kept, err
}

// pauses measures what a door waits for at most while people are made and read, the log is folded and the file is copied.
func (b *bench) pauses(t *testing.T) {
	b.mixes(t, "check-in beside creates, lists, folds and copies", logMixed, false)
	if minutes, err := strconv.Atoi(os.Getenv("DOORWARD_BENCH_MINUTES")); err == nil {
		b.mixes(t, "check-in beside all that, and a file that grows,", time.Duration(minutes)*time.Minute, true)
		info, err := os.Stat(table.Path(b.dir))
		if err != nil {
			t.Fatal(err)
		}
		b.table.tell("the file afterwards", " MiB", float64(info.Size())/(1<<20))
	}
}

// mixes measures check-ins beside a mixed load.
func (b *bench) mixes(t *testing.T, name string, lasts time.Duration, grows bool) {
	r, pace := rand.New(rand.NewPCG(1, 2)), benchScans
	if grows {
		pace = longScans
	}
	took := b.admits(t, pace, func() {
		var beside sync.WaitGroup
		defer beside.Wait()
		end := time.Now().Add(lasts)
		repeat := func(pause time.Duration, do func() error) {
			beside.Go(func() {
				for time.Now().Before(end) {
					if err := do(); err != nil {
						t.Error(err)
					}
					<-time.After(pause)
				}
			})
		}
		repeat(10*time.Millisecond, func() error {
			_, err := b.store.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person}, kvtest.Parse(t, record.Person, benchPerson(benchPeople+r.IntN(benchPeople), b.church), true))
			return err
		})
		repeat(10*time.Millisecond, func() error {
			_, err := b.store.Desk.List(b.reader, desk.Query{Surface: record.V1, Kind: record.Person, Limit: 50})
			return err
		})
		repeat(2*time.Second, b.store.Tables.Engine.Fold)
		repeat(5*time.Second, func() error {
			path := filepath.Join(b.dir, "beside.backup")
			_, err := b.store.Files.CopyTo(auth.Operator(), path)
			_ = disk.Remove(path) // the next one takes its place
			return err
		})
		if next := 2 * benchPeople; grows {
			repeat(longGrows, func() error {
				kvtest.Fill(t, b.store, record.Person, table.MaxRows, func(i int) string { return benchPerson(next+i, b.church) })
				next += table.MaxRows
				return nil
			})
		}
	})
	name = fmt.Sprintf("%s for %v: ", name, lasts)
	b.table.tell(name+"p99", "ms", quantile(took, 0.99))
	b.table.add(line{name: name + "longest", unit: "ms", atMost: 100, bare: true, pairs: []pair{{ours: quantile(took, 1)}}})
}
