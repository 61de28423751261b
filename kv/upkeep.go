package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/disk"
	"doorward/kv/record"
)

// verifyName is the file beside the store that tells of the last check of its values: a moment in microseconds, a blank, and the number of
// faults. It lies beside the store, for a check writes nothing into the file that it has checked.
const verifyName = "doorward.verify"

// Verification is a check of every value of a store that came to its end.
type Verification struct {
	At     time.Time // zero = there was none
	Faults int64
}

// NoteVerify remembers a check of the store in a folder.
func NoteVerify(dir string, v Verification) error {
	err := replaceSmall(dir, verifyName, fmt.Appendf(nil, "%d %d\n", v.At.UnixMicro(), v.Faults))
	if err != nil {
		return fmt.Errorf("note the check beside the store: %w", err)
	}
	return nil
}

// LastVerify is the last check of the store in a folder; the zero Verification where none is known. ErrCorrupt where the file that tells of it
// is damaged; the next check replaces that.
func LastVerify(dir string) (Verification, error) {
	name := filepath.Join(dir, verifyName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Verification{}, nil
	}
	var at, faults int64
	if err == nil {
		if _, failed := fmt.Sscanf(string(text), "%d %d", &at, &faults); failed != nil {
			err = fmt.Errorf("%w: %s does not tell of a check", ErrCorrupt, name)
		}
	}
	if err != nil {
		return Verification{}, err
	}
	return Verification{At: time.UnixMicro(at), Faults: faults}, nil
}

// LastVerify is the last check of this store: *Forbidden, and as the function of this name.
func (s *Store) LastVerify(p Principal) (Verification, error) {
	if err := p.CheckRule(); err != nil {
		return Verification{}, err
	}
	return LastVerify(s.dir)
}

// Backup is a file that was made of a store.
type Backup struct {
	At   time.Time // zero = there was none
	Path string
}

// LastBackup is the newest backup that the store or the file beside it knows of: *Forbidden.
func (s *Store) LastBackup(p Principal) (Backup, error) {
	if err := p.CheckRule(); err != nil {
		return Backup{}, err
	}
	return lastBackup(s.tables)
}

// lastBackup is LastBackup.
func lastBackup(s *tables) (Backup, error) {
	known := backupsBeside(s.dir)
	err := s.view(func(v *sight) error {
		own, err := backups(v)
		known = append(known, own...)
		return err
	})
	var last backup
	for _, b := range known {
		if b.at > last.at {
			last = b
		}
	}
	if err != nil || last.at == 0 {
		return Backup{}, err
	}
	return Backup{At: time.UnixMicro(last.at), Path: last.path}, nil
}

// replaceSmall puts a file of a few bytes in the place of another: a temporary name, fsync, rename, fsync of the folder.
func replaceSmall(dir, name string, text []byte) error {
	f, err := os.CreateTemp(dir, disk.OwnPrefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to tell
		return err
	}
	return disk.SyncDir(dir)
}

// KeyExpiry tells of the keys of one class that are not revoked.
type KeyExpiry struct {
	Soonest time.Time // of those that work and will end; zero = none of them will
	Name    string    // of the key that ends first
	Expired int       // how many have ended
}

// KeyExpiry tells when keys end, those of laptops apart from all others: *Forbidden.
func (s *Store) KeyExpiry(p Principal) (keys, laptops KeyExpiry, err error) {
	if err := p.CheckRule(); err != nil {
		return keys, laptops, err
	}
	now := s.clock()
	for _, l := range *s.logins.Load() {
		of := &keys
		if l.principal.IsLaptop() {
			of = &laptops
		}
		of.count(l, now)
	}
	return keys, laptops, nil
}

func (e *KeyExpiry) count(l login, now time.Time) {
	switch {
	case l.expires.IsZero() || l.revoked:
	case !now.Before(l.expires):
		e.Expired++
	case e.Soonest.IsZero() || l.expires.Before(e.Soonest):
		e.Soonest, e.Name = l.expires, l.principal.Name()
	}
}

// shownEvents is how many events the gauge of check-ins tells of, the latest ones.
const shownEvents = 100

// upkeepGauge tells of what an operator has to do in time, and of what goes on at events.
type upkeepGauge struct {
	store                                             *tables
	keys                                              func(Principal) (keys, laptops KeyExpiry, err error)
	backup, verify, faults, expiry, expired, checkins *prometheus.Desc
}

// newUpkeepGauge makes it; keys is KeyExpiry.
func newUpkeepGauge(s *tables, keys func(Principal) (keys, laptops KeyExpiry, err error)) *upkeepGauge {
	desc := prometheus.NewDesc
	return &upkeepGauge{
		store: s, keys: keys,
		backup:   desc("doorward_backup_timestamp_seconds", "When the last backup was made; NaN = none is known.", nil, nil),
		verify:   desc("doorward_verify_timestamp_seconds", "When every value was last checked, by verify or for a backup; NaN = never.", nil, nil),
		faults:   desc("doorward_verify_faults", "Faults that the last check of every value found; NaN = there was none.", nil, nil),
		expiry:   desc("doorward_key_expiry_timestamp_seconds", "When the first of the keys that work ends, by class (key, laptop); NaN = none does.", []string{"class"}, nil),
		expired:  desc("doorward_keys_expired", "Keys that have ended and are not revoked, by class (key, laptop).", []string{"class"}, nil),
		checkins: desc("doorward_event_checkins", "Check-ins that the store has of an event, double and undone ones included; the latest 100 events.", []string{"event"}, nil),
	}
}

// Describe tells of all.
func (g *upkeepGauge) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.backup, g.verify, g.faults, g.expiry, g.expired, g.checkins} {
		ch <- d
	}
}

// Collect reads what is known. What cannot be read is NaN.
func (g *upkeepGauge) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	made, _ := lastBackup(g.store) // zero, and so NaN
	gauge(g.backup, seconds(made.At))
	checked, _ := LastVerify(g.store.dir) // as above
	gauge(g.verify, seconds(checked.At))
	faults := float64(checked.Faults)
	if checked.At.IsZero() {
		faults = math.NaN()
	}
	gauge(g.faults, faults)
	keys, laptops, _ := g.keys(Operator()) // as above
	for class, e := range map[string]KeyExpiry{"key": keys, "laptop": laptops} {
		gauge(g.expiry, seconds(e.Soonest), class)
		gauge(g.expired, float64(e.Expired), class)
	}
	lists := g.store.current()
	events := lists.kind(record.Event).all
	first := max(0, events.len()-shownEvents)
	for _, id := range events.page(nil, first, events.len()-first) {
		gauge(g.checkins, float64(lists.kind(record.Checkin).home.of(id.Int()).len()), record.Event.FormatID(id))
	}
}

// seconds is a moment as Prometheus has it; NaN for the zero one.
func seconds(at time.Time) float64 {
	if at.IsZero() {
		return math.NaN()
	}
	return float64(at.UnixMicro()) / 1e6
}
