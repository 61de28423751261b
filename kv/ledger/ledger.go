package ledger

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"doorward/kv/disk"
	"doorward/kv/record"
)

// LedgerName is the file that says what was erased. It lies beside the store, is only ever appended to, and no restore replaces
// it: whatever backup is put in the store's place, what was erased is erased again before anybody is served. A line:
//
//	realm 26, kind, keyed hash or a holding's ULID 32 hex, time, CRC32C of what is before it 8 hex
//
// It is a set that only grows.
const LedgerName = "erased.ledger"

// ErasedHash is the keyed hash of a record's id, or the ULID of a holding: neither says whom it is about.
type ErasedHash [CodeHashSize]byte

// LedgerLine says that a record was erased.
type LedgerLine struct {
	Kind *record.Kind
	Hash ErasedHash
	At   time.Time
}

func (l LedgerLine) append(dst []byte, realm string) []byte {
	start := len(dst)
	dst = fmt.Appendf(dst, "%s %s %s %s ", realm, l.Kind.Name, hex.EncodeToString(l.Hash[:]), l.At.UTC().Format(time.RFC3339))
	return fmt.Appendf(dst, "%08x\n", ledgerSum(dst[start:]))
}

func ledgerSum(text []byte) uint32 {
	return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
}

// parseLedgerLine reads a line of a realm's; ok is false for one that is damaged, and the kind is nil for another realm's.
func parseLedgerLine(text, realm string) (l LedgerLine, ok bool) {
	cut := strings.LastIndexByte(text, ' ') + 1
	if fmt.Sprintf("%08x", ledgerSum([]byte(text[:cut]))) != text[cut:] {
		return l, false
	}
	words := strings.Fields(text)
	if len(words) != 5 {
		return l, false
	}
	if words[0] != realm {
		return l, true
	}
	n, err := hex.Decode(l.Hash[:], []byte(words[2]))
	at, failed := time.Parse(time.RFC3339, words[3])
	if err != nil || failed != nil || n != len(l.Hash) {
		return l, false
	}
	l.At = at
	l.Kind, _ = record.ByName(words[1]) // one that this version does not know is for a later one to erase
	return l, true
}

// Ledger is that of a folder, as far as it tells of a realm's records.
type Ledger struct {
	dir   string // "" = none is kept
	realm string
	known map[ErasedHash]bool
}

// ReadLedger reads what was erased. A last line that was cut short says nothing: whoever was writing it was not answered.
func ReadLedger(dir, realm string, log *slog.Logger) (led Ledger, lines []LedgerLine, err error) {
	led = Ledger{dir: dir, realm: realm, known: map[ErasedHash]bool{}}
	if dir == "" {
		return led, nil, nil
	}
	text, err := os.ReadFile(filepath.Join(dir, LedgerName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return led, nil, err
	}
	for line := range bytes.Lines(text) {
		whole, ended := bytes.CutSuffix(line, []byte("\n"))
		l, ok := parseLedgerLine(string(whole), realm)
		switch {
		case !ok && ended && len(whole) > 0:
			log.Error("a line of the ledger of erasures is damaged: who it is about may be in a restored backup", slog.String("file", LedgerName))
		case ok && l.Kind != nil:
			led.known[l.Hash] = true
			lines = append(lines, l)
		}
	}
	return led, lines, nil
}

// Enter writes what the ledger does not have, durably.
func (led *Ledger) Enter(lines []LedgerLine) error {
	var fresh []LedgerLine
	for _, l := range lines {
		if !led.known[l.Hash] {
			fresh = append(fresh, l)
			led.known[l.Hash] = true
		}
	}
	if led.dir == "" || len(fresh) == 0 {
		return nil
	}
	return led.append(fresh)
}

func (led *Ledger) append(lines []LedgerLine) (err error) {
	f, err := os.OpenFile(filepath.Join(led.dir, LedgerName), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var text []byte
	if size := info.Size(); size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			text = append(text, '\n') // the one before was cut short
		}
	}
	for _, l := range lines {
		text = l.append(text, led.realm)
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	return errors.Join(f.Sync(), disk.SyncDir(led.dir))
}
