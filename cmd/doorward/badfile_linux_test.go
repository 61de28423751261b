package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/table"
)

// badFile is something in the place of a store's file, or a file that cannot be used as it is.
type badFile struct {
	name string
	do   func(t *testing.T, path string) // what is done to a sound store's file
	want string                          // what a command says of it
	keep bool                            // nothing is the matter with what it holds: no backup is to take its place
}

func badFiles() []badFile {
	return []badFile{
		{name: "empty", want: "is empty", do: func(t *testing.T, path string) { overwrite(t, path, nil) }},
		{name: "cut short", want: "has been cut short: it has 20000 bytes", do: func(t *testing.T, path string) {
			if err := os.Truncate(path, 20_000); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "cut within a head", want: "has been cut short: it has 5000 bytes", do: func(t *testing.T, path string) {
			if err := os.Truncate(path, 5_000); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "a letter", want: "is no store, or both of its heads are damaged", do: func(t *testing.T, path string) {
			overwrite(t, path, bytes.Repeat([]byte("Dear Ana, this is no store.\n"), 9_000))
		}},
		{name: "nothing but zeros", want: "is no store, or both", do: func(t *testing.T, path string) { overwrite(t, path, make([]byte, 200_000)) }},
		{name: "bbolt of another program", want: "is a store of another program", do: func(t *testing.T, path string) {
			overwritten(t, path, func(path string) { kvtest.Foreign(t, path, 8<<10) })
		}},
		{name: "pages of another size", want: "another program: its pages have 4096 bytes", do: func(t *testing.T, path string) {
			overwritten(t, path, func(path string) { kvtest.Foreign(t, path, 4<<10) })
		}},
		{name: "both heads damaged", want: "both of its heads are damaged", do: func(t *testing.T, path string) {
			patch(t, path, 16+50, 0xff)
			patch(t, path, 8<<10+16+50, 0xff)
		}},
		{name: "a page that is another's", want: "is damaged: page ", do: func(t *testing.T, path string) { eachPage(t, path, 0, 0x7f) }},
		{name: "a page that goes on beyond the end", want: "is damaged: page ", do: func(t *testing.T, path string) { eachPage(t, path, 14, 0xff) }},
		{name: "a key beyond its page", want: "is damaged: page ", do: func(t *testing.T, path string) { eachPage(t, path, 16+6, 0xff) }},
		{name: "a folder", want: "is no file", do: func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "a newer format", want: "was written by a newer version", keep: true, do: func(t *testing.T, path string) { kvtest.Advance(t, filepath.Dir(path)) }},
	}
}

func overwrite(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// overwritten puts in a file's place what is made.
func overwritten(t *testing.T, path string, make func(path string)) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	make(path)
}

// patch writes one byte.
func patch(t *testing.T, path string, at int64, b byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte{b}, at)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// eachPage writes one byte into every page behind the heads.
func eachPage(t *testing.T, path string, within int64, b byte) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := int64(2 * 8 << 10); page < info.Size(); page += 8 << 10 {
		patch(t, path, page+within, b)
	}
}

// TestABadFileEndsInOneClearMessage that names it, and the newest backup where one can help: exit code 1, nothing changed on disk.
// One that another process has open is waited for, which takes some seconds.
func TestABadFileEndsInOneClearMessage(t *testing.T) {
	t.Parallel()
	base := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
	var made any
	base.run(&made, "keys", "add", "--name", "x", "--level", "denomination")
	backup := filepath.Join(t.TempDir(), "monday.db")
	base.run(&made, "backup", backup)
	for _, bad := range badFiles() {
		t.Run(bad.name, func(t *testing.T) {
			p := base.copied(t)
			bad.do(t, table.Path(p.dir))
			for _, command := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"verify"}, {"backup", backup + "2"}, {"compact"}, {"keys", "list"}} {
				said := p.refused(t, p.asked(command...))
				if !strings.Contains(said, "the file "+table.Path(p.dir)) || !strings.Contains(said, bad.want) || strings.Contains(said, backup) == bad.keep {
					t.Errorf("%s said %q, want the file, %q, and the newest backup: %t", command[0], said, bad.want, !bad.keep)
				}
			}
		})
	}
	t.Run("open elsewhere", func(t *testing.T) { base.copied(t).refusesInUse(t) })
	t.Run("not permitted", func(t *testing.T) { base.copied(t).refusesBarred(t) })
	t.Run("another user's", func(t *testing.T) { base.copied(t).refusesForeign(t) })
	if _, err := os.Stat(backup + "2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that cannot be opened was backed up: %v", err)
	}
}

// refusesInUse: another process has the file open. Commands wait some seconds for it.
func (p *program) refusesInUse(t *testing.T) {
	store, err := kv.Open(kv.Config{Dir: p.dir})
	if err == nil {
		err = store.Close() // it has noted that the folder is a copy: nothing is left to be written into the file later
	}
	if err == nil {
		store, err = kv.Open(kv.Config{Dir: p.dir})
	}
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, command := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"verify"}, {"backup", filepath.Join(t.TempDir(), "monday.db")}, {"compact"}} {
		all.Go(func() {
			if said := p.refused(t, p.asked(command...)); !strings.Contains(said, "another doorward is at work on the folder "+p.dir) {
				t.Errorf("%s said %q", command[0], said)
			}
		})
	}
	all.Wait()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// refusesBarred: the file or its folder may not be read, or not be written.
func (p *program) refusesBarred(t *testing.T) {
	file, folder := table.Path(p.dir), p.dir
	for _, barred := range []struct {
		path string
		mode fs.FileMode
		want string
	}{
		{file, 0, "the file " + file + ": permission denied: whoever runs doorward must be able to read and write it, and its mode is 0000\n"},
		{file, 0o400, "the file " + file + ": permission denied: whoever runs doorward must be able to read and write it, and its mode is 0400\n"},
		{folder, 0o500, "doorward: the folder " + folder + ": permission denied: its mode is 0500; use: chmod 700 " + folder + "\n"},
		{folder, 0, "doorward: the folder " + folder + ": permission denied: its mode is 0000; use: chmod 700 " + folder + "\n"},
	} {
		for _, command := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"verify"}, {"backup", "monday.db"}, {"compact"}, {"export"}, {"keys", "list"}} {
			if barred.mode == 0o500 && slices.Contains([]string{"verify", "backup", "export"}, command[0]) {
				continue // they need not write there
			}
			cmd := p.asked(command...)
			if os.Geteuid() == 0 { // who may read everything
				p.asNobody(t, cmd)
			}
			if err := os.Chmod(barred.path, barred.mode); err != nil {
				t.Fatal(err)
			}
			said := p.refused(t, cmd)
			if err := errors.Join(os.Chmod(folder, 0o700), os.Chmod(file, 0o600)); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(said, barred.want) {
				t.Errorf("%s with %s of mode %04o said %q, want %q", command[0], barred.path, barred.mode, said, barred.want)
			}
		}
	}
}

// refusesForeign: the file belongs to another user than its folder, as after a copy that was made with sudo.
func (p *program) refusesForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("no other user can be given the file")
	}
	want := "doorward: the file " + table.Path(p.dir) + " belongs to user root; use: sudo chown -R \"$(id -un)\" " + p.dir + "\n"
	for _, command := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"verify"}, {"keys", "list"}} {
		cmd := p.asked(command...)
		p.asNobody(t, cmd)
		if err := os.Chown(table.Path(p.dir), 0, 0); err != nil {
			t.Fatal(err)
		}
		if said := p.refused(t, cmd); said != want {
			t.Errorf("%s said %q, want %q", command[0], said, want)
		}
	}
}

// copied is the program on a copy of its folder.
func (p *program) copied(t *testing.T) *program {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "d")
	if err := errors.Join(os.CopyFS(dir, os.DirFS(p.dir)), os.Chmod(dir, 0o700), os.Chmod(table.Path(dir), 0o600)); err != nil {
		t.Fatal(err)
	}
	return &program{TB: t, path: p.path, dir: dir}
}

// asked is a command on the folder.
func (p *program) asked(args ...string) *exec.Cmd {
	return exec.Command(p.path, append(args, "--data", p.dir)...)
}

// TestServe_ClosedFolder: it says "folder" of one that it may not look into, or make.
func TestServe_ClosedFolder(t *testing.T) {
	t.Parallel()
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(p.dir, "new")
	for mode, want := range map[fs.FileMode]string{
		0:     "doorward: the folder " + closed + ": permission denied\n",
		0o500: "doorward: open store: no folder new can be made in " + p.dir + ": permission denied\n",
	} {
		cmd := exec.Command(p.path, "serve", "--listen", "127.0.0.1:0", "--data", closed)
		if os.Geteuid() == 0 { // who may read everything
			p.asNobody(t, cmd)
		}
		if err := os.Chmod(p.dir, mode); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("serve below a folder of mode %04o: %v, said %q, want %q", mode, err, out, want)
		}
		if err := os.Chmod(p.dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// asNobody has a command run as a user without rights, who the folder is given to.
func (p *program) asNobody(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	const nobody = 65534
	err := errors.Join(os.Chmod(filepath.Dir(filepath.Dir(p.dir)), 0o711), filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, nobody, nobody))
	}))
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

// refused carries out a command that fails with one line and changes nothing in the folder, and answers the line.
func (p *program) refused(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	before := contents(t, p.dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("%v = %d, %v, and said %q and %q, want 1 and one line on standard error", cmd.Args, code, err, &stdout, &stderr)
	}
	if after := contents(t, p.dir); before != after {
		t.Errorf("%v changed the folder: is\n%swas\n%s", cmd.Args, after, before)
	}
	return stderr.String()
}

// contents tells what lies in a folder, byte for byte.
func contents(t *testing.T, dir string) string {
	t.Helper()
	all := &strings.Builder{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(all, path, info.Mode())
		if info.Mode().IsRegular() && info.Mode().Perm() != 0 {
			text, err := os.ReadFile(path)
			fmt.Fprintf(all, "%v %x\n", info.ModTime(), sha256.Sum256(text))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
