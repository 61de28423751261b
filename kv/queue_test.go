package kv_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"doorward/kv"
	"doorward/kv/engine"
	"doorward/kv/kvtest"
)

func TestAWriteThatTheWriterDoesNotBeginInTimeIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kvtest.Open(t)
		release := kv.Hold(s)
		ran := false
		if err := kv.Do(s, false, func() { ran = true }); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("Do beside a writer that is held = %v, want ErrBusy", err)
		}
		release()
		if err := kv.Do(s, false, func() {}); err != nil {
			t.Errorf("Do after it is let go = %v, want none", err)
		}
		if ran {
			t.Error("the write that was taken back ran all the same")
		}
	})
}
