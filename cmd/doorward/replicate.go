package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"doorward/sync/dial"
	"doorward/sync/replicate"

	"github.com/spf13/cobra"
)

// copying is what replicate is told.
type copying struct {
	*settings
	databases  []string
	live       bool
	plain      bool
	since      string
	key        string
	secretFile string
	insecure   bool
	json       *bool
}

const replicateHelp = `Copy documents from SRC to DST, each a folder, an address, or a file that ends in .ndjson.zst.

What DST has already is not copied again, and a command that was cut off goes on where it was. A folder may be one that serve runs
on. SRC may also be a store's file that ends in .db, as one that restore has kept. An address ends with the name of a database, or with /sync and means all that the server shows. It may hold KEY:SECRET@;
--key and --secret-file keep them out of the command line. It is https://, or http:// on this machine.

Without --db these databases are copied: the one that an address or a file names; else "records" and all free databases that SRC
shows. Into a file goes one database, "records" unless --db says another. Free databases that DST lacks are made.`

func (m *Main) replicateCommand(set *settings) *cobra.Command {
	c := &copying{settings: set}
	cmd := &cobra.Command{
		Use: "replicate SRC DST", Short: "Copy documents between folders, servers and files", Long: replicateHelp, Args: words(2),
		Annotations: map[string]string{noStore: "it names its own"},
	}
	c.json = jsonFlag(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&c.databases, "db", nil, "copy this database; may be given several times")
	f.BoolVar(&c.live, "live", false, "go on with what comes later, until a signal ends it")
	f.BoolVar(&c.plain, "plain", false, "speak with every server as with a strange one")
	f.StringVar(&c.since, "since", "", "begin after this sequence of SRC, where nothing says how far an earlier run came")
	f.StringVar(&c.key, "key", "", "the key to log in with")
	f.StringVar(&c.secretFile, "secret-file", "", "a file that holds the key's secret")
	f.BoolVar(&c.insecure, "insecure", false, "allow http:// to other machines, where everybody on the way can read all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return m.replicate(cmd.Context(), c, args[0], args[1]) }
	return cmd
}

// copied is what replicate reports.
type copied struct {
	Read      int              `json:"read"`
	Written   int              `json:"written"`
	Refused   int              `json:"refused"`
	Databases []copiedDatabase `json:"databases"`
}

// copiedDatabase is one of them.
type copiedDatabase struct {
	DB      string             `json:"db"`
	OK      bool               `json:"ok"`
	Read    int                `json:"read"`
	Written int                `json:"written"`
	Refused int                `json:"refused"`
	LastSeq any                `json:"last_seq"`
	Denied  []replicate.Denial `json:"denied,omitempty"`
	Error   string             `json:"error,omitempty"`
}

// isSame tells whether two folders or files are one.
func isSame(from, to string) bool {
	a, failed := os.Stat(from)
	b, err := os.Stat(to)
	return failed == nil && err == nil && os.SameFile(a, b)
}

func (m *Main) replicate(ctx context.Context, c *copying, from, to string) (err error) {
	if err := c.findZone(); err != nil {
		return usageError{err}
	}
	if (c.key != "" || c.secretFile != "") && !isAddress(from) && !isAddress(to) {
		return usageError{errors.New("--key and --secret-file: only an address is logged in to, and neither of the two is one")}
	}
	if from == "" || to == "" {
		return usageError{errors.New("SRC and DST each name a folder, an address or a file; one of them is empty")}
	}
	if isSame(from, to) {
		return usageError{fmt.Errorf("%s and %s are the same place", from, to)}
	}
	source, err := m.openEnd(ctx, c, from, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.close(err != nil)) }()
	target, err := m.openEnd(ctx, c, to, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.close(err != nil)) }()
	names, err := databasesOf(ctx, c, source, target)
	if err != nil {
		return err
	}
	if err := target.takeUp(ctx, source, names); err != nil {
		return err
	}
	var all copied
	for _, name := range names {
		one := copyDatabase(ctx, c, joined{source, target, name})
		all.Databases = append(all.Databases, one)
		all.Read, all.Written, all.Refused = all.Read+one.Read, all.Written+one.Written, all.Refused+one.Refused
		if ctx.Err() != nil {
			break
		}
	}
	return m.sayCopied(c, &all)
}

// databasesOf decides which databases are copied.
func databasesOf(ctx context.Context, c *copying, source, target *endOfCopy) ([]string, error) {
	switch {
	case source.file != "" && target.file != "":
		return nil, usageError{errors.New("one of the two must be a folder or an address")}
	case c.live && (source.file != "" || target.file != ""):
		return nil, usageError{errors.New("--live: a file does not change")}
	}
	names := c.databases
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
		names = slices.DeleteFunc(all, func(name string) bool { return replicate.OfRecords(name) && name != "records" })
	}
	if len(names) > 1 && (source.one() || target.one()) {
		return nil, usageError{errors.New("--db: an address of a database, or a file, holds one database")}
	}
	return names, nil
}

// joined is one database at both ends.
type joined struct {
	source, target *endOfCopy
	name           string
}

// copyDatabase copies one database, and tells how that went.
func copyDatabase(ctx context.Context, c *copying, j joined) (done copiedDatabase) {
	done = copiedDatabase{DB: j.name}
	out, err := j.copy(ctx, c)
	if len(out.History) > 0 {
		run := out.History[0]
		done.Read, done.Written, done.Refused, done.LastSeq, done.Denied = run.Read, run.Written, run.Failures, out.Last, out.Denied
	}
	if c.live && ctx.Err() != nil {
		err = nil // that is how it ends
	}
	if done.OK = err == nil; err != nil {
		done.Error = err.Error()
	}
	return done
}

func (j joined) copy(ctx context.Context, c *copying) (out replicate.Outcome, err error) {
	job := replicate.Job{Live: c.live}
	if c.since != "" {
		job.Since = []byte(quoted(c.since))
	}
	source, err := j.source.open(j.name, false)
	if err != nil {
		return out, err
	}
	if job.Source = source; j.source.file != "" {
		job.Source = j.source.changes
	}
	if j.target.file == "" {
		if job.Target, err = j.target.open(j.name, !replicate.OfRecords(j.name)); err != nil {
			return out, err
		}
		return replicate.Run(ctx, job)
	}
	says, err := source.Identify(ctx)
	if err != nil {
		return out, err
	}
	says.Since = job.Since
	return j.write(ctx, says.Head, job)
}

// quoted is a sequence as JSON has it.
func quoted(text string) string {
	if strings.ContainsAny(text, `"[{`) {
		return text
	}
	return `"` + text + `"`
}

// sayCopied prints what was done; what was not is a failure.
func (m *Main) sayCopied(c *copying, all *copied) error {
	var failed bool
	for _, one := range all.Databases {
		failed = failed || !one.OK || one.Refused > 0
	}
	if *c.json {
		if err := m.printJSON(all); err != nil {
			return err
		}
	} else {
		m.printCopied(all)
	}
	if failed {
		return errSaid
	}
	return nil
}

func (m *Main) printCopied(all *copied) {
	for _, one := range all.Databases {
		fmt.Fprintf(m.Stdout, "%s: %d copied, %d refused\n", one.DB, one.Written, one.Refused)
		for _, d := range one.Denied {
			fmt.Fprintf(m.Stderr, "  refused %s %s: %s\n", d.ID, d.Rev, d.Reason)
		}
		if one.Error != "" {
			fmt.Fprintf(m.Stderr, "doorward: %s: %s\n", one.DB, one.Error)
		}
	}
}

// secret reads the secret that goes with --key.
func (c *copying) secret() (string, error) {
	if c.secretFile == "" {
		return "", nil
	}
	b, err := os.ReadFile(c.secretFile)
	return strings.TrimSpace(string(b)), named(c.secretFile, err)
}

// reach is how far addresses may be dialled.
func (c *copying) reach(u *url.URL) *http.Client {
	if u.Scheme == "http" && !c.insecure {
		return dial.NewClient(dial.Loopback)
	}
	return dial.NewClient(dial.Anywhere)
}
