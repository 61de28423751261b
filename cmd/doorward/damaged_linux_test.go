package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doorward/kv/table"
)

// TestDamageIsToldByFileBucketAndBackup: whoever meets a damaged value, with a server and without, says in one sentence which file is
// damaged, where in it, and where its newest backup lies. The file stays as it is.
func TestDamageIsToldByFileBucketAndBackup(t *testing.T) {
	t.Parallel()
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
	var made any
	churches := filepath.Join(t.TempDir(), "churches.csv")
	overwrite(t, churches, []byte("name\nCentral\n"))
	p.run(&made, "import", churches, "--kind", "church")
	backup := filepath.Join(t.TempDir(), "monday.db")
	p.run(&made, "backup", backup)
	whole, err := os.ReadFile(table.Path(p.dir))
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, table.Path(p.dir), bytes.ReplaceAll(whole, []byte("Central"), []byte("Centrel")))
	before, err := os.Stat(table.Path(p.dir))
	if err != nil {
		t.Fatal(err)
	}
	told := func(when string) {
		t.Helper()
		for _, command := range [][]string{{"compact"}, {"backup", backup + "2"}, {"export"}} {
			cmd := p.asked(command...)
			stderr := &output{}
			cmd.Stderr = stderr
			_ = cmd.Run() // its exit code is looked at
			said := strings.Split(strings.TrimSpace(stderr.String()), "\n")
			for _, want := range []string{table.Path(p.dir), "bucket kind:church", "the newest backup known is " + backup + ", of "} {
				if last := said[len(said)-1]; cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(last, want) {
					t.Errorf("%s %s = %v and says %q, want exit code 1 and %q", command[0], when, cmd.ProcessState, last, want)
				}
			}
		}
		if now, err := os.Stat(table.Path(p.dir)); err != nil || !os.SameFile(before, now) {
			t.Errorf("%s the store's file is another: %v", when, err)
		}
	}
	p.bothWays(told)
}

// bothWays calls told without a server, and again beside one. It returns the server, which is killed when the test ends.
func (p *program) bothWays(told func(when string)) *serving1 {
	p.Helper()
	told("without a server")
	s := p.serve()
	p.Cleanup(func() {
		s.kill()
		<-s.exited
	})
	told("beside a server")
	return s
}
