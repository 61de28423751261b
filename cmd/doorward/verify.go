package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"doorward/api"
	"doorward/kv"

	"github.com/spf13/cobra"
)

// verifyRequest asks the control handler to check the store.
var verifyRequest = request{method: http.MethodGet, path: "/control/verify"}

func (m *Main) verifyCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "verify", Short: "Check every stored value of a store", Args: cobra.NoArgs}
	asJSON := jsonFlag(cmd)
	here := cmd.Flags().Bool("here", false, "check in this process and print the handler's answer as it comes")
	_ = cmd.Flags().MarkHidden("here") // the flag was made above
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, o := cmd.Context(), opening{settings: set, aside: true, reads: true}
		if *here {
			return m.inspect(o, m.on(ctx, o, func(c *control) error { return m.relay(ctx, c) }))
		}
		answer, err := m.verify(ctx, o)
		if answer == nil {
			return err
		}
		if err != nil && *asJSON {
			return m.reportShut(set.data, answer, err)
		}
		return cmp.Or(m.reportVerify(set.data, answer, kv.NewestBackup(set.data, set.zone), *asJSON), err)
	}
	return cmd
}

// noteVerify remembers beside the store when it was checked, and how many faults were found. Where nothing can be written, as on a disk
// that is only read, that is said and the check counts all the same.
func (m *Main) noteVerify(dir string, faults int64) {
	if err := kv.NoteVerify(dir, kv.Verification{At: time.Now(), Faults: faults}); err != nil {
		fmt.Fprintf(m.Stderr, "doorward: the check is done; only its time could not be noted: %v\n", err)
	}
}

// inspect looks at the pages of a file that could not be opened, and prints what it finds as the handler would; err is why it could not.
func (m *Main) inspect(o opening, err error) error {
	if !errors.Is(err, kv.ErrCorrupt) {
		return err
	}
	rep, failed := kv.Inspect(o.data)
	if failed != nil || rep.Rows == 0 {
		return err // it says all that can be said
	}
	return m.printJSON(map[string]any{"result": api.Verdict(rep, err.Error())})
}

// keepsShut is why a file cannot be opened that a check has looked at all the same; nil: it can.
func keepsShut(answer json.RawMessage) error {
	var found struct{ File string }
	if err := json.Unmarshal(answer, &found); err != nil {
		return fmt.Errorf("the child's answer: %w", err)
	}
	if found.File == "" {
		return nil
	}
	return errors.New(found.File)
}

// verify has a child process check the store, since a damaged file can end its reader. Beside a running server it checks a copy: doors
// wait for nothing that it does, and it reads what the disk holds, not what the server remembers. Of a file that cannot be opened both are answered, what was found
// and why it cannot.
func (m *Main) verify(ctx context.Context, o opening) (answer json.RawMessage, err error) {
	if conn, e := dialSocket(ctx, o.data); e == nil {
		_ = conn.Close() // it only showed that somebody answers
		err = m.onCopy(ctx, o.settings, func(dir string, _ manifest) (err error) {
			if answer, err = m.verifyInChild(ctx, startIdle, []string{"verify", "--data", dir}); err == nil {
				err = keepsShut(answer)
			}
			if err != nil {
				err = o.blamed(fmt.Errorf("a copy of the file %s: %w", kv.Path(o.data), err))
			}
			return err
		})
		return answer, err
	}
	if err := m.checkStore(o.settings); err != nil {
		return nil, err
	}
	answer, err = m.verifyInChild(ctx, (*exec.Cmd).Start, []string{"verify", "--data", o.data, "--timezone", o.timezone})
	if err == nil {
		err = keepsShut(answer)
	}
	return answer, err
}

// blamed is what is wrong with a copy of the store, with the newest backup that can help.
func (s *settings) blamed(err error) error {
	known := kv.NewestBackup(s.data, s.zone)
	if known == "" || errors.Is(err, errStopped) || errors.Is(err, errUnchecked) {
		return err
	}
	return fmt.Errorf("%w; %s", err, known)
}

// relay copies the handler's answer to standard output.
func (m *Main) relay(ctx context.Context, c *control) error {
	resp, err := c.send(ctx, verifyRequest)
	if err != nil {
		return err
	}
	_, err = io.Copy(m.Stdout, resp.Body)
	if err != nil && ctx.Err() != nil {
		err = errStopped
	}
	return errors.Join(err, resp.Body.Close())
}

// verifyCopy checks a copy of a store, which nobody has open: an error says what is wrong with it.
func (m *Main) verifyCopy(ctx context.Context, start starting, dir string) error {
	answer, err := m.verifyInChild(ctx, start, []string{"verify", "--data", dir})
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
	if err := keepsShut(answer); err != nil {
		return err
	}
	if found.Damaged == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s faults, the first: %s", errDamaged, number(found.Damaged), found.Damage[0])
}

var errDamaged = errors.New("damage found")

// starting is how a child is started: as one that computes for long while doors are open beside it (startIdle), or as any other.
type starting func(child *exec.Cmd) error

// verifyInChild runs a verify command as a child, whose settings are its arguments alone, and reads the handler's answer from it:
// errUnchecked, and what the child refuses. A child that ends without an answer, and by nobody's signal, is taken to have died of the file:
// one that ran out of memory by itself looks the same.
func (m *Main) verifyInChild(ctx context.Context, start starting, args []string) (json.RawMessage, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, notStarted(err)
	}
	child := exec.CommandContext(ctx, exe)
	child.Args = slices.Concat(os.Args[:1], args, []string{"--json", "--here"})
	child.Env = slices.DeleteFunc(os.Environ(), isSetting)
	out, err := child.StdoutPipe()
	if err != nil {
		return nil, notStarted(err)
	}
	switch err := start(child); {
	case ctx.Err() != nil && err != nil:
		return nil, errStopped
	case err != nil:
		return nil, notStarted(err)
	}
	answer, err := follow(ctx, out, m.newProgress())
	_ = child.Wait() // its state says more
	if err == nil || ctx.Err() != nil {
		return answer, err
	}
	if killed := killedBy(child.ProcessState); killed != nil {
		return nil, killed
	}
	switch {
	case err.Error() == errStopped.Error(): // by a signal to the child, which took it in good order
		return nil, fmt.Errorf("the check was stopped by a signal: %w", errUnchecked)
	case errors.Is(err, errBrokeOff):
		return json.RawMessage(`{"rows":0,"records":0,"damaged":1,"damage":["the file's own structure is broken: reading it ended the reader"]}`), nil
	}
	return nil, err
}

// errUnchecked is a check that did not come to its end, for no fault of the file.
var errUnchecked = errors.New("nothing is known of the file")

func notStarted(err error) error {
	return fmt.Errorf("the check could not be started: %w: %w", err, errUnchecked)
}

// killedBy tells a check that somebody's signal has ended, as the system's when memory is short, as errUnchecked; nil for any other end,
// also by the signals that a process brings on itself.
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

// reportShut notes, and prints as one JSON object, what was found in a file that cannot be opened, and why it cannot.
func (m *Main) reportShut(dir string, answer json.RawMessage, why error) error {
	var members map[string]any
	var found struct{ Damaged int64 }
	if err := errors.Join(json.Unmarshal(answer, &members), json.Unmarshal(answer, &found)); err != nil {
		return fmt.Errorf("the child's answer: %w", err)
	}
	m.noteVerify(dir, found.Damaged)
	delete(members, "file") // the copy's, maybe: why has the store's
	members["error"] = problem{Message: why.Error()}
	if err := m.printJSON(members); err != nil {
		return err
	}
	fmt.Fprintln(m.Stderr, "doorward:", why)
	return errSaid
}

// reportVerify notes and prints what was found, and which backup is known where that is damage, which makes the command fail.
func (m *Main) reportVerify(dir string, answer json.RawMessage, backup string, asJSON bool) error {
	var found struct {
		Rows, Records, Damaged int64
		Damage                 []string
		File                   string
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	m.noteVerify(dir, found.Damaged)
	switch {
	case asJSON:
		if err := m.printJSON(answer); err != nil {
			return err
		}
	case found.Damaged == 0:
		fmt.Fprintf(m.Stdout, "no damage: %s values, %s records\n", number(found.Rows), number(found.Records))
	default:
		for _, d := range found.Damage {
			fmt.Fprintln(m.Stdout, d)
		}
		if more := found.Damaged - int64(len(found.Damage)); more > 0 {
			fmt.Fprintf(m.Stdout, "and %s more\n", number(more))
		}
		fmt.Fprintf(m.Stdout, "damage found: %s faults in %s values\n", number(found.Damaged), number(found.Rows))
		if backup != "" && found.File == "" {
			fmt.Fprintln(m.Stdout, backup)
		}
	}
	if found.Damaged > 0 && found.File == "" {
		return errSaid
	}
	return nil // what keeps the file shut is an error of its own
}
