package backup

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"doorward/kv/kvtest/proof"
)

// TestACopyIsPutOnAnyDisk: to a name beside it, through a link, and to a disk of its own, in the place of what is there.
func TestACopyIsPutOnAnyDisk(t *testing.T) {
	memory, disk := proof.Memory(t), proof.Disk(t)
	if deviceOf(t, memory) == deviceOf(t, disk) { // a copy is put there by its name alone, and not read again
		proof.Missing(t, "%s and %s are one disk; %s names a folder on another one", memory, disk, proof.DiskVariable)
	}
	link := filepath.Join(disk, "link.db")
	if err := os.Symlink(filepath.Join(memory, "linked.db"), link); err != nil {
		t.Fatal(err)
	}
	for to, lands := range map[string]string{
		filepath.Join(disk, "here.db"):    "",
		filepath.Join(memory, "there.db"): "",
		link:                              filepath.Join(memory, "linked.db"),
	} {
		if lands == "" {
			lands = to
		}
		from := filepath.Join(disk, "copy.db")
		for name, text := range map[string]string{from: "the copy", lands: "an older one"} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		sum := sha256.Sum256([]byte("the copy"))
		if _, err := Put(t.Context(), from, to, Manifest{File: "whole", SHA256: hex.EncodeToString(sum[:])}); err != nil {
			t.Errorf("Put = %v", err)
		}
		info, err := os.Lstat(lands)
		if text, failed := os.ReadFile(lands); err != nil || failed != nil || string(text) != "the copy" || info.Mode() != 0o600 {
			t.Errorf("%s = %q, %v, %v, %v", lands, text, info.Mode(), err, failed)
		}
	}
	torn := filepath.Join(disk, "copy.db")
	if err := os.WriteFile(torn, []byte("what the disk made of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("the copy"))
	to := filepath.Join(memory, "there.db")
	if _, err := Put(t.Context(), torn, to, Manifest{File: "torn", SHA256: hex.EncodeToString(sum[:])}); !errors.Is(err, ErrReadTwice) {
		t.Errorf("Put of what is not what was checked = %v", err)
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "the copy" {
		t.Errorf("afterwards the older one is %q, %v", text, err)
	}
	if told, err := ReadManifest(ManifestName(to)); err != nil || told == nil || told.File != "whole" {
		t.Errorf("afterwards the older one's manifest is %v, %v", told, err)
	}
	if left, err := filepath.Glob(filepath.Join(memory, ".doorward-*")); err != nil || len(left) > 0 {
		t.Errorf("%v are left behind, %v", left, err)
	}
}

// deviceOf is the number of the disk that a folder lies on.
func deviceOf(t *testing.T, dir string) uint64 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	return uint64(st.Dev)
}

// TestBackupsToOneNameTakeTurns: while one is put in its place, another one waits until it is stopped, or may.
func TestBackupsToOneNameTakeTurns(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "copy.db"), filepath.Join(t.TempDir(), "b.db")
	if err := os.WriteFile(from, []byte("the copy"), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := takeTurn(t.Context(), filepath.Dir(to))
	if err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithTimeout(t.Context(), 3*turnPause)
	defer cancel()
	if _, err := Put(impatient, from, to, Manifest{}); !errors.Is(err, context.DeadlineExceeded) || exists(t, to) {
		t.Errorf("out of turn Put = %v, and the file is there: %t", err, exists(t, to))
	}
	shipped := make(chan error)
	go func() {
		_, err := Put(t.Context(), from, to, Manifest{})
		shipped <- err
	}()
	free()
	if err := <-shipped; err != nil {
		t.Errorf("in its turn Put = %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(to), "*")); err != nil || len(left) != 2 {
		t.Errorf("%v are there, %v, want the file and its manifest", left, err)
	}
}

func exists(t *testing.T, name string) bool {
	t.Helper()
	_, err := os.Stat(name)
	return err == nil
}

// TestABackupMayHaveALongName: as long as the file system takes, with the ending of the manifest. A longer one replaces nothing.
func TestABackupMayHaveALongName(t *testing.T) {
	const longest, ending = 255, ".json"
	dir, sum := t.TempDir(), sha256.Sum256([]byte("a copy"))
	for length, want := range map[int]error{longest - len(ending): nil, longest: syscall.ENAMETOOLONG} {
		to, from := filepath.Join(dir, strings.Repeat("b", length)), filepath.Join(dir, "copy.db")
		for name, text := range map[string]string{from: "a copy", to: "an older one"} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Put(t.Context(), from, to, Manifest{SHA256: hex.EncodeToString(sum[:])}); !errors.Is(err, want) {
			t.Errorf("Put to a name of %d letters = %v, want %v", length, err, want)
		}
		text := map[error]string{nil: "a copy", syscall.ENAMETOOLONG: "an older one"}[want]
		if is, err := os.ReadFile(to); err != nil || string(is) != text {
			t.Errorf("a name of %d letters holds %q, %v, want %q", length, is, err, text)
		}
	}
}

// TestNoManifestLiesBesideAnotherFile: where a backup replaces another, the old manifest goes first, then the file comes, then its manifest.
func TestNoManifestLiesBesideAnotherFile(t *testing.T) {
	to, sum := filepath.Join(t.TempDir(), "b.db"), sha256.Sum256([]byte("a copy"))
	put := func() {
		t.Helper()
		from := filepath.Join(t.TempDir(), "copy.db")
		if err := os.WriteFile(from, []byte("a copy"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Put(t.Context(), from, to, Manifest{SHA256: hex.EncodeToString(sum[:])}); err != nil {
			t.Fatal(err)
		}
	}
	put()
	fd, err := syscall.InotifyInit()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }() // it was only read
	if _, err := syscall.InotifyAddWatch(fd, filepath.Dir(to), syscall.IN_DELETE|syscall.IN_MOVED_FROM|syscall.IN_MOVED_TO); err != nil {
		t.Fatal(err)
	}
	put()
	b := make([]byte, 16<<10)
	n, err := syscall.Read(fd, b)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for b = b[:n]; len(b) > 0; {
		end := syscall.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
		name := strings.TrimRight(string(b[syscall.SizeofInotifyEvent:end]), "\x00")
		if strings.HasPrefix(name, "b.db") {
			verb := "comes"
			if binary.NativeEndian.Uint32(b[4:])&(syscall.IN_DELETE|syscall.IN_MOVED_FROM) != 0 {
				verb = "goes"
			}
			seen = append(seen, name+" "+verb)
		}
		b = b[end:]
	}
	if want := []string{"b.db.json goes", "b.db comes", "b.db.json comes"}; !slices.Equal(seen, want) {
		t.Errorf("a backup in the place of another: %q, want %q", seen, want)
	}
}
