package ledger

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"doorward/kv/disk"
	"doorward/kv/record"
)

// LedgerName is the file beside the store that lists the erasures.
const LedgerName = "erased.ledger"

// ErasedHash is the keyed hash of a record's id, or the ULID of a holding. Neither names a person.
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

// parseLedgerLine reads a line; ok is false for a damaged one. The kind is nil for a line of another realm.
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
	l.Kind, _ = record.ByName(words[1]) // a later version erases records of a kind that this one does not know
	return l, true
}

// Ledger is the ledger of a folder, for the records of one realm.
type Ledger struct {
	dir   string // "" = none is kept
	realm string
	known map[ErasedHash]bool
}

// ReadLedger reads the erasures. A last line that was cut short is skipped, because its writer got no answer.
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

// Enter adds the lines that the ledger lacks, durably. It reads the file again, because other writers may have added to it.
func (led *Ledger) Enter(lines []LedgerLine) error {
	now, _, err := ReadLedger(led.dir, led.realm, slog.New(slog.DiscardHandler)) // damaged lines were logged before
	if err != nil {
		return err
	}
	maps.Copy(led.known, now.known)
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

// CodeHashSize is how many bytes of an HMAC are kept.
const CodeHashSize = 16
