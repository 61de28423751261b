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
	"doorward/kv/rev"
)

// LedgerName is the file that says what was erased. It lies beside the store, is only ever appended to, and no restore replaces
// it: whatever backup is put in the store's place, what was erased is erased again before anybody is served. A line:
//
//	realm 26, kind, keyed hash 32 hex, time, of a ticket its first revisions without names (part:revision,…), CRC32C of what is
//	before it 8 hex
//
// Of a record's lines the last counts; first revisions that stood in those before it are past.
const LedgerName = "erased.ledger"

// ErasedHash is the keyed hash of a record's id, which tells nobody whom it is about.
type ErasedHash [CodeHashSize]byte

// LedgerLine says that a record was erased.
type LedgerLine struct {
	Kind   *record.Kind
	Hash   ErasedHash
	At     time.Time
	Firsts // of a ticket; those past stand in earlier lines
}

// firstText is what a line says of first revisions.
func (l LedgerLine) firstText() string {
	var words []string
	for _, k := range TicketParts {
		for _, rev := range l.First[k] {
			words = append(words, k.Name+":"+rev.String())
		}
	}
	return strings.Join(words, ",")
}

// parseFirst reads what firstText has written.
func (l *LedgerLine) parseFirst(text string) bool {
	for word := range strings.SplitSeq(text, ",") {
		name, text, _ := strings.Cut(word, ":")
		k, known := record.ByName(name)
		rev, ok := rev.Parse(text)
		if !known || !ok {
			return false
		}
		l.First[k] = append(l.First[k], rev)
	}
	return true
}

func (l LedgerLine) append(dst []byte, realm string) []byte {
	start := len(dst)
	dst = fmt.Appendf(dst, "%s %s %s %s ", realm, l.Kind.Name, hex.EncodeToString(l.Hash[:]), l.At.UTC().Format(time.RFC3339))
	if first := l.firstText(); first != "" {
		dst = append(append(dst, first...), ' ')
	}
	return fmt.Appendf(dst, "%08x\n", ledgerSum(dst[start:]))
}

func ledgerSum(text []byte) uint32 {
	return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
}

// parseLedgerLine reads a line of a realm's; ok is false for one that is damaged, and the kind is nil for another realm's.
func parseLedgerLine(text, realm string) (l LedgerLine, ok bool) {
	l.Firsts = l.Firsts.Clone()
	cut := strings.LastIndexByte(text, ' ') + 1
	if fmt.Sprintf("%08x", ledgerSum([]byte(text[:cut]))) != text[cut:] {
		return l, false
	}
	words := strings.Fields(text)
	if len(words) != 5 && len(words) != 6 {
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
	if len(words) == 6 && !l.parseFirst(words[4]) {
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
	Known map[ErasedHash]Firsts
}

// ReadLedger reads what was erased. A last line that was cut short says nothing: whoever was writing it was not answered.
func ReadLedger(dir, realm string, log *slog.Logger) (led Ledger, lines []LedgerLine, err error) {
	led = Ledger{dir: dir, realm: realm, Known: map[ErasedHash]Firsts{}}
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
			l.Firsts = led.follow(l)
			lines = append(lines, l)
		}
	}
	return led, lines, nil
}

// follow notes a line that stands in the ledger, and answers what that says of the record since.
func (led *Ledger) follow(l LedgerLine) Firsts {
	f := led.Known[l.Hash].Clone()
	f.Follow(l.First)
	led.Known[l.Hash] = f
	return f
}

// Enter writes what the ledger does not have, durably. What it knows better stays.
func (led *Ledger) Enter(lines []LedgerLine) error {
	var fresh []LedgerLine
	for _, l := range lines {
		fresh = append(fresh, led.news(l)...)
	}
	if led.dir == "" || len(fresh) == 0 {
		return nil
	}
	for _, l := range fresh {
		led.follow(l)
	}
	return led.append(fresh)
}

// news are the lines that say what the ledger does not know: one of what counts as past, where it does not say that by itself, and one of
// what counts as first.
func (led *Ledger) news(l LedgerLine) (fresh []LedgerLine) {
	before, known := led.Known[l.Hash]
	is := before.Clone()
	if more := is.Learn(l.Firsts); known && !more {
		return nil
	}
	if past := is.Past.without(before.Past, before.First); len(past) > 0 {
		earlier := l
		earlier.First = past
		fresh = append(fresh, earlier)
	}
	l.Firsts = is
	return append(fresh, l)
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

// A ticket is one thing to its writer and three records in the store, under one id: what doors need, what name search
// needs, and what only the church's office sees (design.md §2). This file takes it apart and puts it together.

var TicketParts = [3]*record.Kind{record.Ticket, record.HolderName, record.Holder}

// CodeHashSize is how much of the HMAC is kept.
const CodeHashSize = 16
