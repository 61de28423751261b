package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doorward/cmd/doorward/archive"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/folder"
	"doorward/kv/auth"
	"doorward/kv/backup"
	"doorward/kv/disk"
	"doorward/kv/office"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/line"
	"doorward/sync/replicate"
)

// place is one of the two places.
type place struct {
	config  replicate.RemoteConfig
	base    string          // the address below which databases are; "" = config has the address of one database
	name    string          // of the database that an address names
	file    string          // "" for a folder or an address
	changes *replicate.File // of a file that is read
	raw     *os.File        // the same file
	folder  *folder.Folder  // nil for an address or a file
	line    *control.Line   // to a folder's store
	end     func() error    // closes a file
}

// fileEnding is the ending of a file of changes.
const fileEnding = ".ndjson.zst"

// openSource opens the place that is read.
func (c *Config) openSource(ctx context.Context, name string) (*place, error) {
	switch {
	case isAddress(name):
		return c.address(name)
	case isStoreFile(name) && name == table.Path(filepath.Dir(name)): // its log lies beside it
		return c.openFolder(ctx, filepath.Dir(name), control.Need{Certain: c.Need.Certain})
	case isStoreFile(name):
		return c.storeFile(ctx, name)
	case !strings.HasSuffix(name, fileEnding):
		return c.openFolder(ctx, name, control.Need{Certain: c.Need.Certain})
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, backup.Named(name, err)
	}
	changes, err := replicate.OpenFile(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.Join(err, f.Close()))
	}
	return &place{file: name, changes: changes, raw: f, end: f.Close}, nil
}

// openTarget opens the place that is written to.
func (c *Config) openTarget(ctx context.Context, name string) (*place, error) {
	switch {
	case isAddress(name):
		return c.address(name)
	case strings.HasSuffix(name, fileEnding):
		return &place{file: name}, nil
	}
	return c.openFolder(ctx, name, control.Need{Creates: true})
}

// isStoreFile reports whether a name is a store's file by itself, as a restore keeps one.
func isStoreFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && strings.HasSuffix(name, ".db")
}

// storeFile opens a store's file to be copied from.
func (c *Config) storeFile(ctx context.Context, file string) (*place, error) {
	dir, done, err := archive.OpenFile(ctx, file)
	if err != nil {
		return nil, err
	}
	o := c.Opening
	o.Folder, o.Need = c.At(dir), control.Need{Aside: true, Certain: c.Need.Certain}
	line, err := control.InProcess(o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", file, err), done())
	}
	line.AlsoClose(done)
	return c.over(line, o.Folder), nil
}

// over is a folder's place.
func (c *Config) over(line *control.Line, f *folder.Folder) *place {
	return &place{base: "http://doorward/sync", folder: f, line: line, config: replicate.RemoteConfig{Config: dial.Config{Client: line.Client}, Plain: c.Plain}}
}

// isAddress reports whether a place is an address, and no folder or file.
func isAddress(place string) bool { return strings.Contains(place, "://") }

func (c *Config) openFolder(ctx context.Context, dir string, need control.Need) (*place, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, console.Usage(fmt.Errorf("%s is no folder, and no file that ends in %s or .db", dir, fileEnding))
	}
	o := c.Opening
	o.Folder, o.Need = c.At(dir), need
	line, err := control.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if store := line.Created(); store != nil { // a store that was there waits for room; a new one never had it
		if err := store.Tables.Folder.Room.Check(disk.Imports); err != nil {
			return nil, errors.Join(err, line.GiveUp())
		}
	}
	return c.over(line, o.Folder), nil
}

// address reads an address: of a server's databases, or of one.
func (c *Config) address(text string) (*place, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, console.Usage(errors.New("an address begins with https:// and names a server"))
	}
	p := &place{}
	p.config = replicate.RemoteConfig{Config: dial.Config{Client: c.reach(u), Key: c.Key}, Plain: c.Plain}
	if p.config.Secret, err = c.secret(); err != nil {
		return nil, err
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	if path == "" || strings.HasSuffix(path, "/sync") {
		p.base = strings.TrimRight(text, "/")
		return p, nil
	}
	p.config.URL = text
	p.name, err = url.PathUnescape(path[strings.LastIndex(path, "/")+1:])
	return p, err
}

// one reports whether a place holds one database.
func (p *place) one() bool { return p.name != "" || p.file != "" }

// named is the database that one of two places names, if one does.
func (p *place) named(other *place) []string {
	if p.changes != nil && p.changes.Head().DB != "" && other.name == "" {
		return []string{p.changes.Head().DB}
	}
	for _, name := range []string{p.name, other.name} {
		if name != "" {
			return []string{name}
		}
	}
	return nil
}

// shown lists the databases that a server shows.
func (p *place) shown(ctx context.Context) (names []string, err error) {
	u, err := url.Parse(p.base)
	if err != nil {
		return nil, dial.ErrURL
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/_all_dbs", nil)
	if err != nil {
		return nil, dial.ErrURL
	}
	if p.config.Key != "" && u.User == nil {
		req.SetBasicAuth(p.config.Key, p.config.Secret)
	}
	resp, err := p.config.Client.Do(req)
	proxy, byProxy := errors.AsType[*dial.ProxyError](err)
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, console.ErrStopped
	case byProxy:
		return nil, fmt.Errorf("%s does not answer: %w", u.Redacted(), proxy)
	case err != nil:
		return nil, fmt.Errorf("%s does not answer", u.Redacted())
	}
	defer func() { _ = resp.Body.Close() }() // it was read to its end
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s when asked for its databases", u.Redacted(), resp.Status)
	}
	err = json.NewDecoder(resp.Body).Decode(&names)
	return names, err
}

// open makes an end of one database of the place; of a file nothing.
func (p *place) open(name string, create bool) (*replicate.Remote, error) {
	conf := p.config
	switch {
	case p.file != "":
		return nil, nil
	case p.name == "":
		conf.URL = p.base + "/" + url.PathEscape(name)
	}
	conf.Create = create
	return replicate.NewRemote(conf)
}

// write writes what a job copies into the target's file, which is whole or not there.
func (p pair) write(ctx context.Context, c *Config, head line.Head, job replicate.Job) (out replicate.Outcome, err error) {
	put := backup.Write
	if p.source.folder != nil {
		put = p.source.folder.Write
	}
	doubt, err := put(ctx, p.target.file, func(w io.Writer) error {
		t, err := replicate.CreateFile(w, head)
		if err != nil {
			return err
		}
		job.Target = t
		if out, err = replicate.Run(ctx, job); err != nil {
			return err
		}
		return t.Finish(out)
	})
	if doubt != "" {
		c.Console.Warn("%s", doubt)
	}
	return out, console.Stopped(ctx, err)
}

// joinRealm makes a new store one of the congregation that its records come from. The source is its centre until it joins another one: two
// stores that mint the same ids could never be brought together again.
func (p *place) joinRealm(ctx context.Context, source *place, names []string) error {
	at := slices.IndexFunc(names, table.OfRecords)
	if all := slices.Index(names, "records"); all >= 0 {
		at = all
	}
	if at < 0 || p.line == nil || p.line.Created() == nil {
		return nil
	}
	says, err := source.identify(ctx, names[at])
	if err != nil || says.Realm == "" { // a server of another program has none
		return err
	}
	return p.line.Created().Laptop.Join(auth.Operator(), table.Upstream{Node: says.Node}, office.Credential{Realm: says.Realm, CodeKey: says.CodeKey})
}

// checkJoined refuses records for a laptop that has joined a centre, unless they come from an earlier store of its own. The centre gives a
// laptop what it takes along. Anything else would stay in it after an erasure or a revocation, and the check-ins of an event that it was
// not enrolled for would never be sent.
func (p *place) checkJoined(ctx context.Context, source *place, names []string) error {
	at := slices.IndexFunc(names, table.OfRecords)
	if at < 0 || p.line == nil || p.line.Created() != nil {
		return nil
	}
	status, err := control.Ask[struct {
		Centre *struct {
			URL string `json:"url"`
		} `json:"centre"`
	}](ctx, p.line, control.Get("/control/status", nil))
	if err != nil || status.Centre == nil || status.Centre.URL == "" {
		return err
	}
	from, err := source.identify(ctx, names[at])
	if err != nil {
		return err
	}
	own, err := p.identify(ctx, "records")
	if err != nil || from.Node == own.Node {
		return err
	}
	return fmt.Errorf("the folder %s is a laptop of %s, which gives it what it takes along; copy into another folder", p.folder.Dir, status.Centre.URL)
}

// identify says which database of a name this is.
func (p *place) identify(ctx context.Context, name string) (replicate.Identity, error) {
	if p.changes != nil {
		return p.changes.Identify(ctx)
	}
	t, err := p.open(name, false)
	if err != nil {
		return replicate.Identity{}, err
	}
	return t.Identify(ctx)
}

// close closes the place. After a failure, a store that was made for the copy is removed.
func (p *place) close(failure error) error {
	switch {
	case p.line != nil && failure != nil:
		return p.line.GiveUp()
	case p.line != nil:
		return p.line.Close()
	case p.end != nil:
		return p.end()
	}
	return nil
}
