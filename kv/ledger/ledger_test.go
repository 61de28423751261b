package ledger_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"doorward/kv/ledger"
	"doorward/kv/record"
)

// Two erasures that have read the ledger before either wrote it enter the same record: it has one line.
func TestTwoErasuresEnterARecordOnce(t *testing.T) {
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	line := ledger.LedgerLine{Kind: record.Person, Hash: ledger.ErasedHash{1}, At: time.Unix(0, 0)}
	var both [2]ledger.Ledger
	for i := range both {
		var err error
		if both[i], _, err = ledger.ReadLedger(dir, "01J00000000000000000000000", log); err != nil {
			t.Fatal(err)
		}
	}
	for i := range both {
		if err := both[i].Enter([]ledger.LedgerLine{line}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, ledger.LedgerName))
	if err != nil || bytes.Count(text, []byte("\n")) != 1 {
		t.Errorf("the ledger is %q, %v, want one line", text, err)
	}
}
