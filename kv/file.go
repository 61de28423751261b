package kv

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"doorward/kv/crash"

	"github.com/oklog/ulid/v2"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// formatNumber is what this version writes. A file of an earlier format goes through migrations.
const formatNumber = 4

// migrations[n] brings a file from format n to n+1, inside one transaction. Format 3 has hashes that are texts; a file of format 2 is
// one that has none yet. Format 4 has lookups of the flags of facts.
var migrations = map[uint64]func(*bbolt.Tx) error{1: logScopes, 2: func(*bbolt.Tx) error { return nil }, 3: findFlags}

// lockPatience is how long opening waits for another process to let go of the file.
const lockPatience = 2 * time.Second

var (
	formatKey = []byte("format")
	realmKey  = []byte("realm")
	nodeKey   = []byte("node")
	epochKey  = []byte("epoch")
	codeKey   = []byte("code_key")
)

// identity is who this store is (design.md §4).
type identity struct {
	node   string
	family *atomic.Pointer[family]
}

// family is what the nodes of a congregation have in common; an empty store that joins them takes it over.
type family struct {
	realm   string
	codeKey []byte
}

func boltOptions(size int64) *bbolt.Options {
	return &bbolt.Options{
		Timeout: lockPatience, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, PageSize: filePageSize,
		InitialMmapSize: int(max(1<<30, 2*size)),
	}
}

// openFile opens the folder's file, making folder and file if they are not there and can be.
func openFile(c Config) (*boltFile, error) {
	dir := c.Dir
	if !c.ReadOnly {
		if err := MakeFolder(dir); err != nil {
			return nil, err
		}
	}
	path := Path(dir)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && !c.ReadOnly {
		if err := Gone(dir, time.UTC); err != nil {
			return nil, err
		}
		if err := createFile(dir, path); err != nil {
			return nil, fmt.Errorf("create: %w", err)
		}
		info, err = os.Stat(path)
	}
	if err != nil {
		return nil, err
	}
	if link, err := os.Lstat(path); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a link to a file: make the whole folder a link instead, for a store keeps and replaces more than that file", path)
	}
	if info.Mode().Perm()&0o077 != 0 && info.Mode().IsRegular() && !c.ReadOnly {
		_ = os.Chmod(path, 0o600) // where it cannot be, the folder keeps others out
	}
	by := accessFor(c.ReadOnly, info.Size())
	if err := guardFile(path, by.flag); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(path, 0o600, by.bolt)
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, ErrInUse
	}
	if err != nil {
		return nil, err
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(info, now) {
		return nil, errors.Join(ErrInUse, err, db.Close()) // another file was put in its place meanwhile
	}
	return &boltFile{DB: db, itself: info}, nil
}

// MakeFolder makes a folder, and those above it, unless it is there. No power cut takes away what it made.
func MakeFolder(dir string) error {
	above := filepath.Dir(dir)
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && above != dir {
		if err := MakeFolder(above); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if err == nil {
		return syncDir(above)
	}
	info, failed := os.Stat(dir)
	switch {
	case failed == nil && info.IsDir():
		return nil
	case errors.Is(err, fs.ErrExist) && errors.Is(failed, fs.ErrNotExist):
		return fmt.Errorf("%s is a link to a folder that is not there", dir)
	case errors.Is(err, fs.ErrNotExist): // it was removed meanwhile, or is the kernel's
		return fmt.Errorf("no folder %s can be made in %s: %w", filepath.Base(dir), above, errors.Unwrap(err))
	}
	return err
}

// createFile makes an empty store under a temporary name and links it into place, so that no crash leaves half of one and
// of two that try one wins.
func createFile(dir, path string) error {
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, OwnPrefix+"new-*.db")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // linked already, or of no use
	if err := tmp.Close(); err != nil {
		return err
	}
	db, err := bbolt.Open(tmp.Name(), 0o600, boltOptions(0))
	if err != nil {
		return err
	}
	if err := errors.Join(db.Update(fillFile), db.Sync(), db.Close()); err != nil {
		return err
	}
	crash.At(crash.BeforeCreate)
	err = os.Link(tmp.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(tmp.Name(), path) // a file system without hard links
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	crash.At(crash.AfterCreate)
	return syncDir(dir)
}

// fillFile writes what every store holds from its first moment.
func fillFile(tx *bbolt.Tx) error {
	if err := createBuckets(tx); err != nil {
		return err
	}
	secret := make([]byte, 32)
	rand.Read(secret)
	r := rows{tx: tx, buckets: &bucketCache{}, over: &overlay{arena: &arena{}}}
	r.put(metaBucket, formatKey, binary.AppendUvarint(nil, formatNumber))
	r.put(metaBucket, codeKey, secret)
	for _, key := range [][]byte{realmKey, nodeKey, epochKey} {
		r.put(metaBucket, key, []byte(ulid.Make().String()))
	}
	return r.flush()
}

func createBuckets(tx *bbolt.Tx) error {
	for _, name := range bucketNames {
		if name == nil {
			continue
		}
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// migrate brings an older file to this version's format, and adds the buckets of kinds that it does not know yet.
func migrate(db *bbolt.DB, steps map[uint64]func(*bbolt.Tx) error) error {
	var format uint64
	missing := false
	err := db.View(func(tx *bbolt.Tx) (err error) {
		known := map[string]bool{}
		for _, name := range bucketNames {
			known[string(name)] = true
			missing = missing || name != nil && tx.Bucket(name) == nil
		}
		if format, err = readFormat(tx); err != nil {
			return err
		}
		return tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
			if missing && !known[string(name)] { // its name is damaged: it is no bucket to make anew
				return fmt.Errorf("%w: a bucket is missing, and another is there that is not known", ErrCorrupt)
			}
			return nil
		})
	})
	if err != nil || format == formatNumber && !missing {
		return err
	}
	if err := db.Update(func(tx *bbolt.Tx) error { return migrateFrom(tx, format, steps) }); err != nil {
		return err
	}
	crash.At(crash.AfterMigration)
	return nil
}

func migrateFrom(tx *bbolt.Tx, format uint64, steps map[uint64]func(*bbolt.Tx) error) error {
	if err := createBuckets(tx); err != nil {
		return err
	}
	for ; format < formatNumber; format++ {
		step, ok := steps[format]
		if !ok {
			return fmt.Errorf("%w: no way from format %d", ErrCorrupt, format)
		}
		if err := step(tx); err != nil {
			return fmt.Errorf("migrate from format %d: %w", format, err)
		}
		crash.At(crash.AmongMigrations)
	}
	r := rows{tx: tx, buckets: &bucketCache{}, over: &overlay{arena: &arena{}}}
	r.put(metaBucket, formatKey, binary.AppendUvarint(nil, formatNumber))
	return r.flush()
}

func readFormat(tx *bbolt.Tx) (uint64, error) {
	meta := tx.Bucket(bucketNames[metaBucket])
	if meta == nil {
		return 0, &BadFile{Path: tx.DB().Path(), Reason: "is a store of another program"}
	}
	row, err := unseal(metaBucket, formatKey, meta.Get(formatKey))
	if err != nil {
		return 0, identified(formatKey, err)
	}
	c := cutter{rest: row}
	format := c.uvarint()
	if format > formatNumber {
		return 0, fmt.Errorf("%w: format %d, this one knows %d", ErrNewerFormat, format, formatNumber)
	}
	return format, nil
}

func (s *Store) readIdentity(r rows) (id identity, err error) {
	text := func(key []byte) string {
		row, e := r.get(metaBucket, key)
		if e == nil && row == nil {
			e = fmt.Errorf("%w: meta row %s is missing", ErrCorrupt, key)
		}
		if err == nil {
			err = identified(key, e)
		}
		return string(row)
	}
	id = identity{node: text(nodeKey), family: &atomic.Pointer[family]{}}
	id.family.Store(&family{text(realmKey), []byte(text(codeKey))})
	e, failed := readEpochs(r, text(epochKey))
	if errors.Is(failed, ErrCorrupt) {
		s.log.Error("what the store knows of its earlier epochs is damaged: a peer with a sequence of one of these starts over")
		e, failed = &epochs{present: e.present}, nil
	}
	s.epochs.Store(e)
	return id, errors.Join(err, failed)
}

// isMetaKey tells a key that meta may have.
func isMetaKey(key []byte) bool {
	for _, name := range [...][]byte{formatKey, realmKey, nodeKey, epochKey, codeKey, stateKey, freeKey, epochsKey, markerKey, markerTimesKey, backupsKey,
		restoredKey, releasedKey, sessionKey, clockKey, compactedKey, centreKey, upstreamKey} {
		if bytes.Equal(key, name) {
			return true
		}
	}
	name, _, several := bytes.Cut(key, []byte("/"))
	return several && slices.Contains([]string{"contact", "sessions", honest.refusals.of, honest.leases.of}, string(name))
}
