package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
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
func Verify(ctx context.Context, o control.Opening) (found *Verdict, err error) {
	if control.Answers(ctx, o.Dir) {
		err = onCopy(ctx, o, func(dir string, _ backup.Manifest) (err error) {
			if found, err = inChild(ctx, o, startBeside, "verify", "--data", dir); err != nil {
				err = nameBackup(o, fmt.Errorf("a copy of the file %s: %w", table.Path(o.Dir), err))
			}
			return err
		})
		return found, err
	}
	if err := o.CheckStore(); err != nil {
		return nil, err
	}
	return inChild(ctx, o, startChild, "verify", "--data", o.Dir, "--timezone", o.Timezone)
}

// Verdict is what a check has found, as far as it is printed.
type Verdict struct {
	Answer                 json.RawMessage `json:"-"` // the handler's, all of it
	Rows, Records, Damaged int64
	Damage                 []string
	File                   string // why the file cannot be opened, which was looked at all the same; "" = it can
}

// readVerdict reads a child's answer. Its error is also why the file cannot be opened.
func readVerdict(answer json.RawMessage) (*Verdict, error) {
	v := &Verdict{Answer: answer}
	if err := json.Unmarshal(answer, v); err != nil {
		return nil, fmt.Errorf("the child's answer: %w", err)
	}
	if v.File != "" {
		return v, errors.New(v.File)
	}
	return v, nil
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

// checkCopy checks a copy of a store, which no process has open. The error says what is wrong with it.
func checkCopy(ctx context.Context, o control.Opening, start starting, dir string, flags ...string) error {
	found, err := inChild(ctx, o, start, append([]string{"verify", "--data", dir}, flags...)...)
	if err != nil || found.Damaged == 0 {
		return err
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
// child that ends without an answer and without a signal is taken to have died of the file, unless the runtime says that it lacked memory
// or a thread.
func inChild(ctx context.Context, o control.Opening, start starting, args ...string) (*Verdict, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, notStarted(err)
	}
	child := exec.CommandContext(ctx, exe)
	child.Args = slices.Concat(os.Args[:1], args, []string{"--json", "--here"})
	child.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, SettingPrefix) })
	var said bytes.Buffer
	child.Stderr = &said
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
	_ = child.Wait() // its state says more, and what it has said
	switch {
	case err == nil:
		return readVerdict(answer)
	case ctx.Err() != nil:
		return nil, err
	}
	if killed := killedBy(child.ProcessState); killed != nil {
		return nil, killed
	}
	switch {
	case err.Error() == console.ErrStopped.Error(): // the child took a signal in good order
		return nil, fmt.Errorf("the check was stopped by a signal: %w", errUnchecked)
	case errors.Is(err, control.ErrBrokeOff) && lacking.Match(said.Bytes()):
		return nil, fmt.Errorf("the check had too little memory, or no thread: %w", errUnchecked)
	case errors.Is(err, control.ErrBrokeOff):
		return readVerdict(json.RawMessage(`{"rows":0,"records":0,"damaged":1,"damage":["the file's own structure is broken: reading it ended the reader"]}`))
	}
	return nil, err
}

// lacking tells the last words of a process that got no memory or no thread from the system. A panic has other ones.
var lacking = regexp.MustCompile(`(?m)^(runtime|fatal error).*(out of memory|cannot allocate memory|pthread_create failed|failed to create new OS thread)`)

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
