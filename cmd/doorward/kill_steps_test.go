package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doorward/kv/crash"
	"doorward/kv/kvtest/proof"
)

// cutStepsShare is how many points there are for each one that a sample dies at.
const cutStepsShare = 6

// cutStep is a command that dies at a point, and what comes before it.
type cutStep struct {
	points  []crash.Point
	prepare func(*killing)
	args    []string
	whole   bool     // a whole store is there at once, before anything is done again
	again   []string // what must work afterwards, if not args
}

func cutSteps() []cutStep {
	return []cutStep{
		{points: []crash.Point{crash.BeforeCreate, crash.AfterCreate}, args: []string{"keys", "add", "--name", "x", "--level", "denomination"},
			prepare: func(k *killing) { k.dir += "-new" }},
		{points: []crash.Point{crash.BeforeFile, crash.AfterFile, crash.BeforeCommit, crash.AfterCommit, crash.BeforeReplace, crash.AfterReplace},
			args: []string{"restore", "--replace", "BACKUP"}, whole: true, prepare: func(k *killing) { k.command("", "backup", "BACKUP") }},
		{points: []crash.Point{crash.BeforeFile, crash.AfterFile}, args: []string{"backup", "BACKUP"}, whole: true},
		{points: []crash.Point{crash.BeforeLog, crash.AfterLog, crash.BeforeFold, crash.AmongFolds, crash.AfterFold, crash.BeforeAlone, crash.AfterAlone},
			args: []string{"keys", "add", "--name", "y", "--level", "denomination"}, whole: true, prepare: func(k *killing) { k.command("", "keys", "list") }},
		{points: []crash.Point{crash.BeforeCompacted, crash.AfterCompacted}, args: []string{"compact"}, whole: true},
		{points: []crash.Point{crash.BeforeAside, crash.AfterAside}, args: []string{"serve", "--listen", "127.0.0.1:0"},
			prepare: (*killing).breakIndex, again: []string{"keys", "list"}},
	}
}

// TestCutStepsLeaveAStore: creating, replacing, compacting, backing up, replacing an index and taking a blob may each
// be cut off between any two of their steps. What was acknowledged is there, and the same command works the next time.
func TestCutStepsLeaveAStore(t *testing.T) {
	t.Parallel()
	proof.Unraced(t)
	path := builtWith(t, "crashpoints")
	template := newKillTemplate(t, path)
	met := slices.Clone(killPoints) // those have a test of their own
	chosen := proof.Sampled(proof.Seed(t), cutStepsShare)
	cuts := func(point crash.Point, cut func(*testing.T)) {
		met = append(met, point)
		if chosen() {
			t.Run(string(point), cut)
		}
	}
	for i, step := range cutSteps() {
		for j, point := range step.points {
			cuts(point, func(t *testing.T) {
				template.copied(t, uint64(10*i+j)).cut(step, point)
			})
		}
	}
	for i, point := range []crash.Point{crash.AfterChunk, crash.AfterBlob} {
		cuts(point, func(t *testing.T) { template.copied(t, uint64(100+i)).cutUpload(point) })
	}
	for _, p := range crash.Points() {
		if !slices.Contains(met, p) {
			t.Errorf("nothing dies %s", p)
		}
	}
}

// cut has a step's command die at a point, then does it again.
func (k *killing) cut(step cutStep, point crash.Point) {
	admitted, kept := k.admit(), k.dir
	if step.prepare != nil {
		step.prepare(k)
	}
	k.command(point, step.args...)
	if step.whole {
		k.command("", "verify")
	}
	if step.again == nil {
		step.again = step.args
	}
	k.command("", step.again...)
	k.command("", "verify")
	if k.dir = kept; k.admit() != admitted {
		k.Errorf("a check-in that was answered is not there after a cut %s", point)
	}
}

// command runs a command that dies at a point, or is done where there is none.
func (k *killing) command(dies crash.Point, args ...string) {
	k.Helper()
	args = slices.Concat(args, []string{"--data", k.dir})
	if i := slices.Index(args, "BACKUP"); i >= 0 {
		args[i] = k.dir + ".backup"
	}
	if dies == "" && args[0] == "backup" {
		_ = os.Remove(k.dir + ".backup") // what the command that died may have left
	}
	cmd := exec.Command(k.path, args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s", crash.Variable, dies))
	out, err := cmd.CombinedOutput()
	if dies == "" && err != nil {
		k.Fatalf("%v: %v\n%s", args, err, out)
	}
	if dies != "" && cmd.ProcessState.ExitCode() != -1 {
		k.Fatalf("%v did not die %s: %v\n%s", args, dies, cmd.ProcessState, out)
	}
}

// admit brings the first code to the door, and answers the check-in that it has now.
func (k *killing) admit() string {
	k.Helper()
	k.server = k.serve()
	defer func() {
		k.server.kill()
		<-k.server.exited
	}()
	c := newKillClient(k, 0)
	defer c.http.CloseIdleConnections()
	rep := c.ask(c.scanOf(&visit{code: killCode(0)}))
	_, id, _ := rep.decision()
	if id == "" {
		k.Fatalf("%s = %d %s", killCode(0), rep.status, rep.body)
	}
	return id
}

// breakIndex puts a file in the place of the index.
func (k *killing) breakIndex() {
	index := filepath.Join(k.dir, "index")
	if err := os.RemoveAll(index); err != nil {
		k.Fatal(err)
	}
	if err := os.WriteFile(index, []byte("no index"), 0o600); err != nil {
		k.Fatal(err)
	}
}

// cutUpload: a server that dies among the parts of an attachment, or before the document that needs it, has no document with it
// afterwards; sent again, it is whole.
func (k *killing) cutUpload(point crash.Point) {
	content := strings.Repeat("a picture, long enough for some parts; ", 60_000)
	for _, dies := range []bool{false, true, false} { // the database, the death, and again
		var more []string
		if dies {
			more = append(more, crash.Variable+"="+string(point))
		}
		server, err := k.start(more...)
		if err != nil {
			k.Fatal(err)
		}
		k.server = server
		k.upload(dies, content)
		server.kill()
		<-server.exited
	}
	k.command("", "verify")
}

// upload makes a database where there is none, wants it to have no document, and sends one unless it is the first time.
func (k *killing) upload(dies bool, content string) {
	k.Helper()
	c := newKillClient(k, 0)
	defer c.http.CloseIdleConnections()
	if !k.made {
		k.made = true
		if rep := c.ask(request1{method: "PUT", path: "/sync/notes"}); rep.status != http.StatusCreated {
			k.Fatalf("PUT notes = %d %s", rep.status, rep.body)
		}
		return
	}
	if rep := c.ask(request1{method: "GET", path: "/sync/notes"}); rep.number("doc_count") != 0 {
		k.Errorf("a document without its attachment: %s", rep.body)
	}
	rep := c.send(request1{method: "PUT", path: "/sync/notes/doc/picture", body: content})
	if dies {
		if rep != nil {
			k.Errorf("the server lives: %d %s", rep.status, rep.body)
		}
		return
	}
	if rep == nil || rep.status != http.StatusCreated {
		k.Fatalf("upload = %+v", rep)
	}
	if rep := c.ask(request1{method: "GET", path: "/sync/notes/doc/picture"}); rep.body != content {
		k.Errorf("the attachment has %d bytes, want %d", len(rep.body), len(content))
	}
}
