package transfer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"doorward/sync/replicate"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/kv/backup"
	"doorward/kv/table"
)

// Config is what is copied, and how.
type Config struct {
	control.Opening // of folders; each place has its own path

	Databases  []string // nil = those that the places name or show
	Live       bool     // goes on with later changes until ctx ends
	Plain      bool     // speaks with every server as with a strange one
	Since      string   // begins after this sequence
	Key        string
	SecretFile string
	Insecure   bool // allows http:// to other machines
	// For is the id or name of a laptop: a file is written of what it takes along. "" = of all
	For string
	// Laptop finds the id of a laptop of a centre.
	Laptop func(ctx context.Context, centre *control.Line, named string) (int64, error)
}

// Report is what was copied.
type Report struct {
	Read      int        `json:"read"`
	Written   int        `json:"written"`
	Refused   int        `json:"refused"`
	Databases []Database `json:"databases"`
	LeftOut   []string   `json:"left_out,omitempty"` // databases of a file that the laptop does not take along
}

// Database is what was copied of one database.
type Database struct {
	DB      string             `json:"db"`
	OK      bool               `json:"ok"`
	Read    int                `json:"read"`
	Written int                `json:"written"`
	Refused int                `json:"refused"`
	LastSeq any                `json:"last_seq"`
	Denied  []replicate.Denial `json:"denied,omitempty"`
	Error   string             `json:"error,omitempty"`
}

// isSame reports whether two folders or files are one.
func isSame(from, to string) bool {
	a, failed := os.Stat(from)
	b, err := os.Stat(to)
	return failed == nil && err == nil && os.SameFile(a, b)
}

// failed reports whether a database was not copied, or a document refused.
func (r *Report) failed() bool {
	return slices.ContainsFunc(r.Databases, func(one Database) bool { return !one.OK || one.Refused > 0 })
}

// Run copies databases from one place to another. It returns console.ErrSaid with a report that tells of a failure.
func Run(ctx context.Context, c Config, from, to string) (all Report, err error) {
	if err := c.check(from, to); err != nil {
		return all, console.Usage(err)
	}
	source, err := c.openSource(ctx, from)
	if err != nil {
		return all, err
	}
	defer func() { err = errors.Join(err, source.close(err)) }()
	target, err := c.openTarget(ctx, to)
	if err != nil {
		return all, err
	}
	defer func() { err = errors.Join(err, target.close(err)) }()
	names, err := c.names(ctx, source, target)
	if err != nil {
		return all, err
	}
	if err := c.choose(ctx, source, target); err != nil {
		return all, err
	}
	laptop, err := target.sticks(ctx, source)
	if err != nil {
		return all, err
	}
	if laptop != nil {
		return c.deliver(ctx, laptop, source)
	}
	if err := target.checkJoined(ctx, source, names); err != nil {
		return all, err
	}
	if err := target.joinRealm(ctx, source, names); err != nil {
		return all, err
	}
	for _, name := range names {
		one := pair{source, target, name}.run(ctx, &c)
		all.Databases = append(all.Databases, one)
		all.Read, all.Written, all.Refused = all.Read+one.Read, all.Written+one.Written, all.Refused+one.Refused
		if ctx.Err() != nil {
			break
		}
	}
	if all.failed() {
		err = console.ErrSaid
	}
	return all, err
}

// check refuses what cannot be meant.
func (c *Config) check(from, to string) error {
	switch {
	case (c.Key != "" || c.SecretFile != "") && !isAddress(from) && !isAddress(to):
		return errors.New("--key and --secret-file: only an address is logged in to, and neither of the two is one")
	case from == "" || to == "":
		return errors.New("SRC and DST each name a folder, an address or a file; one of them is empty")
	case isSame(from, to):
		return fmt.Errorf("%s and %s are the same place", from, to)
	}
	return nil
}

// names are the databases to copy.
func (c *Config) names(ctx context.Context, source, target *place) ([]string, error) {
	switch {
	case source.file != "" && target.file != "":
		return nil, console.Usage(errors.New("one of the two must be a folder or an address"))
	case c.Live && (source.file != "" || target.file != ""):
		return nil, console.Usage(errors.New("--live: a file does not change"))
	}
	names := c.Databases
	if len(names) == 0 {
		names = source.named(target)
	}
	if len(names) == 0 && target.file != "" {
		names = []string{"records"}
	}
	if len(names) == 0 {
		all, err := source.shown(ctx)
		if err != nil {
			return nil, err
		}
		names = slices.DeleteFunc(all, func(name string) bool { return table.OfRecords(name) && name != "records" })
		if len(names) == 0 {
			return nil, errors.New("nothing is copied: SRC shows this key neither \"records\" nor a free database; --db names another")
		}
	}
	if len(names) > 1 && (source.one() || target.one()) {
		return nil, console.Usage(errors.New("--db: an address of a database, or a file, holds one database"))
	}
	return names, nil
}

// choose has the source leave out what the laptop does not take along that the file is for.
func (c *Config) choose(ctx context.Context, source, target *place) (err error) {
	switch {
	case c.For == "":
		return nil
	case target.file == "" || source.line == nil:
		return console.Usage(fmt.Errorf("--for: SRC is the folder of the centre, and DST a file that ends in %s", fileEnding))
	case len(c.Databases) > 0 || c.Plain:
		return console.Usage(errors.New("--for: the file has what the laptop takes along; --db and --plain do not go with it"))
	}
	source.config.For, err = c.Laptop(ctx, source.line, c.For)
	return err
}

// pair is one database at both places.
type pair struct {
	source, target *place
	name           string
}

// run copies the database, and reports how that went.
func (p pair) run(ctx context.Context, c *Config) (done Database) {
	done = Database{DB: p.name}
	out, err := p.copy(ctx, c)
	if len(out.History) > 0 {
		run := out.History[0]
		done.Read, done.Written, done.Refused, done.LastSeq, done.Denied = run.Read, run.Written, run.Failures, out.Last, out.Denied
	}
	if c.Live && ctx.Err() != nil {
		err = nil // a signal is its only end
	}
	if done.OK = err == nil; err != nil {
		done.Error = console.Stopped(ctx, err).Error()
	}
	return done
}

func (p pair) copy(ctx context.Context, c *Config) (out replicate.Outcome, err error) {
	job := replicate.Job{Live: c.Live}
	if c.Since != "" {
		job.Since = []byte(quoted(c.Since))
	}
	source, err := p.source.open(p.name, false)
	if err != nil {
		return out, err
	}
	if job.Source = source; p.source.file != "" {
		job.Source = p.source.changes
	}
	if p.target.file == "" {
		if job.Target, err = p.target.open(p.name, !table.OfRecords(p.name)); err != nil {
			return out, err
		}
		return replicate.Run(ctx, job)
	}
	says, err := source.Identify(ctx)
	if err != nil {
		return out, err
	}
	says.Since = job.Since
	return p.write(ctx, c, says.Head, job)
}

// quoted is a sequence as JSON has it.
func quoted(text string) string {
	if strings.ContainsAny(text, `"[{`) {
		return text
	}
	return `"` + text + `"`
}

// secret reads the secret that goes with --key.
func (c *Config) secret() (string, error) {
	if c.SecretFile == "" {
		return "", nil
	}
	b, err := os.ReadFile(c.SecretFile)
	return strings.TrimSpace(string(b)), backup.Named(c.SecretFile, err)
}

// reach is how far addresses may be dialled.
func (c *Config) reach(u *url.URL) *http.Client {
	return control.Outbound(u.Scheme == "http" && !c.Insecure)
}
