package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doorward/cmd/doorward/control"
	"doorward/kv/table"
)

// verified is what verify --json prints.
type verified struct {
	Rows, Records, Damaged int
	Damage                 []string
	Places                 []struct {
		Page                *int // nil: it is a row
		Bucket, Row, Reason string
	}
	Error *control.Problem
}

// verify runs verify as JSON, and answers its exit code.
func (p *program) verify() (found verified, code int) {
	p.Helper()
	cmd := p.asked("verify", "--json")
	out, err := cmd.Output()
	if err := json.Unmarshal(out, &found); err != nil {
		p.Fatalf("verify prints %q: %v", out, err)
	}
	_ = err // its exit code says it
	return found, cmd.ProcessState.ExitCode()
}

// TestVerifyAndExportGoOnPastEachDamagedValue: both say at the end what is damaged, 100 of it by name, and a server on the store is ready
// and says how many values it does not serve.
func TestVerifyAndExportGoOnPastEachDamagedValue(t *testing.T) {
	t.Parallel()
	for _, damaged := range []int{2, 130} {
		t.Run(fmt.Sprint(damaged), func(t *testing.T) {
			const churches = 150
			p := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
			sheet := filepath.Join(t.TempDir(), "churches.ndjson")
			rows := "" // with ids: those that an import gives need not be in the order of the lines
			for i := range churches {
				rows += fmt.Sprintf("{\"id\":%d,\"name\":\"Parish %03d\"}\n", i+1, i)
			}
			overwrite(t, sheet, []byte(rows))
			var made any
			p.run(&made, "import", sheet, "--kind", "church")
			whole, err := os.ReadFile(table.Path(p.dir))
			if err != nil {
				t.Fatal(err)
			}
			for i := range damaged {
				whole = bytes.ReplaceAll(whole, fmt.Appendf(nil, "Parish %03d", i), fmt.Appendf(nil, "Parisx %03d", i))
			}
			overwrite(t, table.Path(p.dir), whole)

			found, code := p.verify()
			if code != exitFailed || found.Damaged < damaged || len(found.Damage) != min(found.Damaged, 100) || len(found.Places) != len(found.Damage) {
				t.Errorf("verify = %d, finds %d, says %d, names %d, of %d damaged values", code, found.Damaged, len(found.Damage), len(found.Places), damaged)
			}
			for _, at := range found.Places {
				if at.Page != nil {
					t.Errorf("verify says of the row %s of bucket %s that it is page %d", at.Row, at.Bucket, *at.Page)
				}
			}
			for i := range damaged {
				if row := fmt.Sprint("church ", i+1); found.Damaged <= 100 && !strings.Contains(fmt.Sprint(found.Places), "kind:church "+row+" a value fails its checksum") {
					t.Errorf("verify does not name %s: %v", row, found.Places)
				}
			}
			text, _ := p.asked("verify").Output() // its exit code was looked at
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			if want := fmt.Sprintf("and %d more", found.Damaged-100); damaged > 100 && (len(lines) < 102 || lines[100] != want) {
				t.Errorf("verify prints %d lines, want %q behind 100", len(lines), want)
			}

			told := func(when string) {
				t.Helper()
				file := filepath.Join(t.TempDir(), "all.ndjson")
				cmd := p.asked("export", file)
				stderr := &output{}
				cmd.Stderr = stderr
				_ = cmd.Run() // its exit code is looked at
				out, err := os.ReadFile(file)
				left := fmt.Sprintf("%d damaged records are left out: church 1 of bucket kind:church, church 2 of", damaged)
				if err != nil || bytes.Count(out, []byte(`"church"`)) != churches-damaged || bytes.Contains(out, []byte("Parisx")) ||
					cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(stderr.String(), left) {
					t.Errorf("export %s writes %d churches, %v, ends with %v and says %q", when, bytes.Count(out, []byte(`"church"`)), err, cmd.ProcessState, stderr)
				}
				if damaged > 100 != strings.Contains(stderr.String(), " and 30 more") {
					t.Errorf("export %s says %q", when, stderr)
				}
			}
			s := p.bothWays(told)
			resp, err := http.Get(s.url + "/readyz")
			if err != nil {
				t.Fatal(err)
			}
			var ready struct{ Reasons []string }
			err = json.NewDecoder(resp.Body).Decode(&ready)
			_ = resp.Body.Close() // it was read
			if want := fmt.Sprintf("%d stored values are damaged", damaged); err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(fmt.Sprint(ready.Reasons), want) {
				t.Errorf("readyz = %d, %v, %v, want %q", resp.StatusCode, ready.Reasons, err, want)
			}
		})
	}
}

// TestVerifyNamesEachDamagedPage damages several pages of one file, of which none keeps verify from looking at the others.
func TestVerifyNamesEachDamagedPage(t *testing.T) {
	t.Parallel()
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
	var made any
	p.run(&made, "demo", "--size", "s")
	p.run(&made, "compact") // else a page that looks like one of people may be free
	whole, err := os.ReadFile(table.Path(p.dir))
	if err != nil {
		t.Fatal(err)
	}
	var bad []int
	for page := 4; page*8192+8192 <= len(whole) && len(bad) < 3; page++ {
		const leaf = 2
		head := whole[page*8192:]
		if head[8] == leaf && int(head[0])|int(head[1])<<8 == page && bytes.Contains(head[:8192], []byte(`"full_name"`)) {
			head[16+4+1] ^= 0x40 // where the first key lies
			bad = append(bad, page)
		}
	}
	if len(bad) < 3 {
		t.Fatalf("the file has pages %v of people", bad)
	}
	at := bytes.Index(whole, []byte(`"name":"`)) // and a value of another page
	whole[at+10] ^= 1
	overwrite(t, table.Path(p.dir), whole)
	found, code := p.verify()
	if code != exitFailed || found.Error == nil || !strings.Contains(found.Error.Message, "is damaged: page ") {
		t.Errorf("verify = %d, %+v", code, found)
	}
	for _, page := range bad {
		if !strings.Contains(fmt.Sprint(found.Damage), fmt.Sprintf("page %d is damaged", page)) {
			t.Errorf("verify does not name page %d: %v", page, found.Damage)
		}
	}
	if !strings.Contains(fmt.Sprint(found.Damage), "a value fails its checksum") {
		t.Errorf("verify does not name the damaged value: %v", found.Damage)
	}
	cmd := p.asked("verify")
	out, _ := cmd.CombinedOutput() // its exit code is looked at
	if cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(string(out), fmt.Sprintf("page %d is damaged", bad[2])) || !strings.Contains(string(out), "the file "+table.Path(p.dir)+" is damaged") {
		t.Errorf("verify = %v: %s", cmd.ProcessState, out)
	}
}
