package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/kv/backup"
	"doorward/kv/table"
	"doorward/kv/upkeep"
)

// SettingPrefix begins the names of the program's own variables. A child gets none of them: its arguments are its only settings.
const SettingPrefix = "DOORWARD_"

// Verify has a child process check the store, since a damaged file can end its reader. Beside a running server the child checks a copy: no
// door waits for it, and it reads what the disk holds. Of a file that cannot be opened it returns both, what was found and why it cannot.
func Verify(ctx context.Context, o control.Opening) (answer json.RawMessage, err error) {
	if control.Answers(ctx, o.Dir) {
		err = onCopy(ctx, o, func(dir string, _ backup.Manifest) (err error) {
			if answer, err = inChild(ctx, o, startBeside, "verify", "--data", dir); err == nil {
				err = unopened(answer)
			}
			if err != nil {
				err = nameBackup(o, fmt.Errorf("a copy of the file %s: %w", table.Path(o.Dir), err))
			}
			return err
		})
		return answer, err
	}
	if err := o.CheckStore(); err != nil {
		return nil, err
	}
	answer, err = inChild(ctx, o, startChild, "verify", "--data", o.Dir, "--timezone", o.Timezone)
	if err == nil {
		err = unopened(answer)
	}
	return answer, err
}

// NoteVerify notes beside the store when it was checked, and how many faults were found. On a read-only disk it prints that it could not,
// and the check counts all the same.
func NoteVerify(o control.Opening, faults int64) {
	if err := upkeep.NoteVerify(o.Dir, upkeep.Verification{At: time.Now(), Faults: faults}); err != nil {
		o.Console.Warn("the check is done; only its time could not be noted: %v", err)
	}
}

// nameBackup adds the newest backup that can help to what is wrong with the store.
func nameBackup(o control.Opening, err error) error {
	known := table.NewestBackup(o.Dir, o.Zone)
	if known == "" || errors.Is(err, console.ErrStopped) || errors.Is(err, errUnchecked) {
		return err
	}
	return fmt.Errorf("%w; %s", err, known)
}

// unopened is why a file cannot be opened that a check has looked at all the same; nil = it can.
func unopened(answer json.RawMessage) error {
	var found struct{ File string }
	if err := json.Unmarshal(answer, &found); err != nil {
		return fmt.Errorf("the child's answer: %w", err)
	}
	if found.File == "" {
		return nil
	}
	return errors.New(found.File)
}

// checkCopy checks a copy of a store, which no process has open. The error says what is wrong with it.
func checkCopy(ctx context.Context, o control.Opening, start starting, dir string) error {
	answer, err := inChild(ctx, o, start, "verify", "--data", dir)
	if err != nil {
		return err
	}
	var found struct {
		Damaged int64
		Damage  []string
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return fmt.Errorf("the child's answer: %w", err)
	}
	if err := unopened(answer); err != nil {
		return err
	}
	if found.Damaged == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s faults, the first: %s", errDamaged, console.Number(found.Damaged), found.Damage[0])
}

var (
	errDamaged = errors.New("damage found")
	// errUnchecked is a check that did not come to its end, for no fault of the file.
	errUnchecked = errors.New("nothing is known of the file")
)

// starting is how a child is started.
type starting func(child *exec.Cmd) error

// startChild starts a child as it is.
func startChild(child *exec.Cmd) error { return child.Start() }

// startBeside starts a child that computes on one processor, for the others are the doors'. Time is scarcer than memory there: it seldom
// collects garbage.
func startBeside(child *exec.Cmd) error {
	child.Env = append(child.Environ(), "GOMAXPROCS=1", "GOGC=400")
	return child.Start()
}

// inChild runs a verify command as a child and reads the handler's answer from it. It returns errUnchecked, or what the child refuses. A
// child that ends without an answer and without a signal is taken to have died of the file: one that ran out of memory by itself looks
// the same.
func inChild(ctx context.Context, o control.Opening, start starting, args ...string) (json.RawMessage, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, notStarted(err)
	}
	child := exec.CommandContext(ctx, exe)
	child.Args = slices.Concat(os.Args[:1], args, []string{"--json", "--here"})
	child.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, SettingPrefix) })
	out, err := child.StdoutPipe()
	if err != nil {
		return nil, notStarted(err)
	}
	switch err := start(child); {
	case ctx.Err() != nil && err != nil:
		return nil, console.ErrStopped
	case err != nil:
		return nil, notStarted(err)
	}
	answer, err := control.Follow(ctx, out, o.Console.Progress())
	_ = child.Wait() // its state says more
	if err == nil || ctx.Err() != nil {
		return answer, err
	}
	if killed := killedBy(child.ProcessState); killed != nil {
		return nil, killed
	}
	switch {
	case err.Error() == console.ErrStopped.Error(): // the child took a signal in good order
		return nil, fmt.Errorf("the check was stopped by a signal: %w", errUnchecked)
	case errors.Is(err, control.ErrBrokeOff):
		return json.RawMessage(`{"rows":0,"records":0,"damaged":1,"damage":["the file's own structure is broken: reading it ended the reader"]}`), nil
	}
	return nil, err
}

func notStarted(err error) error {
	return fmt.Errorf("the check could not be started: %w: %w", err, errUnchecked)
}

// killedBy returns errUnchecked for a check that a signal has ended, as the system's when memory is short. It returns nil for any other
// end, also by the signals that a process brings on itself.
func killedBy(state *os.ProcessState) error {
	end, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !end.Signaled() {
		return nil
	}
	switch end.Signal() {
	case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGABRT, syscall.SIGILL, syscall.SIGFPE, syscall.SIGTRAP:
		return nil
	}
	return fmt.Errorf("the check was killed by signal %d (%v): %w", end.Signal(), end.Signal(), errUnchecked)
}
