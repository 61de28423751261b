package engine

import (
	"fmt"
	"os"

	"doorward/kv/disk"
	"doorward/kv/engine/pages"
)

// guard refuses a file that would end the process in bbolt: one that is shorter than its meta page says, or has a page that leads beyond its end or
// to a page that another leads to. It opens the file with the flag, and no other process has the file open until it returns: *BadFile, disk.ErrInUse.
// It does not look at leaves: see survey.
func guard(path string, flag int) (w *pages.Walk, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	bad := func(format string, args ...any) (*pages.Walk, error) {
		return nil, &BadFile{Path: path, Reason: fmt.Sprintf(format, args...)}
	}
	if !info.Mode().IsRegular() {
		return bad("is no file")
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := disk.LockWithin(f, lockPatience); err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	h, size, both, err := pages.ReadHead(f)
	switch {
	case err != nil:
		return nil, err
	case info.Size() == 0:
		return bad("is empty")
	case size == 0:
		return bad("is no store, or both of its heads are damaged")
	case size != pages.Size:
		return bad("is a store of another program: its pages have %d bytes", size)
	case info.Size() < h.Size():
		return bad("%s", cutShort(info.Size(), h))
	case !disk.Locks:
		return pages.New(h), nil // another process may be writing: bbolt takes its lock first, and looks then
	case !both:
		return bad("is damaged: of its two heads one cannot be read, so its latest commit may be missing")
	}
	w = pages.New(h)
	reason, err := w.Branches(f)
	if err == nil && reason != "" {
		return bad("is damaged: %s", reason)
	}
	return w, err
}

// survey looks at the leaves of a file beside what else is done with it, which must change nothing.
type survey struct {
	ended chan struct{}
	err   error // a *BadFile; set when it has ended
}

// newSurvey begins to look at what the guard has put off.
func newSurvey(path string, w *pages.Walk) *survey {
	s := &survey{ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		s.err = lookAtLeaves(path, w)
	}()
	return s
}

// wait returns what was found, once all was looked at.
func (s *survey) wait() error {
	<-s.ended
	return s.err
}

// lookAtLeaves looks at what the guard has put off. What does not fit is a *BadFile.
func lookAtLeaves(path string, w *pages.Walk) error {
	reason, err := guarded(func() (string, error) { return w.Leaves(path) })
	if err == nil && reason != "" {
		err = &BadFile{Path: path, Reason: "is damaged: " + reason}
	}
	return err
}
