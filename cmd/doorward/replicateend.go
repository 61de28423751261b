package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"doorward/kv"
	"doorward/sync/dial"
	"doorward/sync/line"
	"doorward/sync/replicate"
)

// endOfCopy is one of the two places that replicate is told.
type endOfCopy struct {
	config  replicate.RemoteConfig
	base    string          // address below which databases are, or "" where database is the address of one
	name    string          // of the database that an address names
	file    string          // "" for a folder or an address
	changes *replicate.File // of a file that is read
	set     *settings       // of a folder
	line    *control        // to a folder's store
	closing func() error    // of a file
}

// openEnd opens a place. A folder is reached as its own server is: through serve's socket, or over the store that is opened.
func (m *Main) openEnd(ctx context.Context, c *copying, place string, target bool) (*endOfCopy, error) {
	switch {
	case isAddress(place):
		return c.address(place)
	case !target && isStoreFile(place):
		return m.storeFileEnd(ctx, c, place)
	case !strings.HasSuffix(place, ".ndjson.zst"):
		return m.folderEnd(ctx, c, place, target)
	case target:
		return &endOfCopy{file: place}, nil
	}
	f, err := os.Open(place)
	if err != nil {
		return nil, named(place, err)
	}
	changes, err := replicate.OpenFile(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, errors.Join(err, f.Close()))
	}
	return &endOfCopy{file: place, changes: changes, closing: f.Close}, nil
}

// isAddress tells an address from a folder or a file.
func isAddress(place string) bool { return strings.Contains(place, "://") }

func (m *Main) folderEnd(ctx context.Context, c *copying, dir string, target bool) (*endOfCopy, error) {
	set := *c.settings
	set.data = dir
	line, err := m.dial(ctx, opening{settings: &set, makes: target})
	if err != nil {
		return nil, err
	}
	if line.fresh != nil { // nobody waits for room that a store which was made for this has never had
		if err := line.fresh.store.Room(kv.Imports); err != nil {
			return nil, errors.Join(err, line.giveUp())
		}
	}
	e := &endOfCopy{base: "http://doorward/sync", set: &set, line: line}
	e.config = replicate.RemoteConfig{Config: dial.Config{Client: line.client}, Plain: c.plain}
	return e, nil
}

// address reads an address: of a server's databases, or of one.
func (c *copying) address(text string) (*endOfCopy, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usageError{errors.New("an address begins with https:// and names a server")}
	}
	e := &endOfCopy{}
	e.config = replicate.RemoteConfig{Config: dial.Config{Client: c.reach(u), Key: c.key}, Plain: c.plain}
	if e.config.Secret, err = c.secret(); err != nil {
		return nil, err
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	if path == "" || strings.HasSuffix(path, "/sync") {
		e.base = strings.TrimRight(text, "/")
		return e, nil
	}
	e.config.URL = text
	e.name, err = url.PathUnescape(path[strings.LastIndex(path, "/")+1:])
	return e, err
}

// one tells a place that holds one database.
func (e *endOfCopy) one() bool { return e.name != "" || e.file != "" }

// named is the database that one of two places names, if one does.
func (e *endOfCopy) named(other *endOfCopy) []string {
	if e.changes != nil && e.changes.Head().DB != "" && other.name == "" {
		return []string{e.changes.Head().DB}
	}
	for _, name := range []string{e.name, other.name} {
		if name != "" {
			return []string{name}
		}
	}
	return nil
}

// shown lists the databases that a server shows.
func (e *endOfCopy) shown(ctx context.Context) (names []string, err error) {
	u, err := url.Parse(e.base)
	if err != nil {
		return nil, dial.ErrURL
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.base+"/_all_dbs", nil)
	if err != nil {
		return nil, dial.ErrURL
	}
	if e.config.Key != "" && u.User == nil {
		req.SetBasicAuth(e.config.Key, e.config.Secret)
	}
	resp, err := e.config.Client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s does not answer", u.Redacted())
	}
	defer func() { _ = resp.Body.Close() }() // it is read
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s when asked for its databases", u.Redacted(), resp.Status)
	}
	err = json.NewDecoder(resp.Body).Decode(&names)
	return names, err
}

// open makes an end of one database of the place; of a file nothing.
func (e *endOfCopy) open(name string, create bool) (*replicate.Remote, error) {
	conf := e.config
	switch {
	case e.file != "":
		return nil, nil
	case e.name == "":
		conf.URL = e.base + "/" + url.PathEscape(name)
	}
	conf.Create = create
	return replicate.NewRemote(conf)
}

// write writes what a job copies into the target's file, which is whole or not there.
func (j joined) write(ctx context.Context, head line.Head, job replicate.Job) (out replicate.Outcome, err error) {
	put := writeFile
	if j.source.set != nil {
		put = j.source.set.writeBeside
	}
	err = put(ctx, j.target.file, func(w io.Writer) error {
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
	return out, err
}

// takeUp makes a store that was made for records of the source one of their congregation. Its centre is where they come from, until
// it joins one: two stores that mint the same ids could never be brought together again.
func (e *endOfCopy) takeUp(ctx context.Context, source *endOfCopy, names []string) error {
	at := slices.IndexFunc(names, replicate.OfRecords)
	if all := slices.Index(names, "records"); all >= 0 {
		at = all
	}
	if at < 0 || e.line == nil || e.line.fresh == nil {
		return nil
	}
	says, err := source.identify(ctx, names[at])
	if err != nil || says.Realm == "" { // of a server that is none of ours
		return err
	}
	return e.line.fresh.store.Join(kv.Operator(), kv.Upstream{Node: says.Node}, kv.Credential{Realm: says.Realm, CodeKey: says.CodeKey})
}

// identify says which database of a name this is.
func (e *endOfCopy) identify(ctx context.Context, name string) (replicate.Identity, error) {
	if e.changes != nil {
		return e.changes.Identify(ctx)
	}
	t, err := e.open(name, false)
	if err != nil {
		return replicate.Identity{}, err
	}
	return t.Identify(ctx)
}

// close ends the use of the place. Where all failed, a store that was made for it goes again.
func (e *endOfCopy) close(failed bool) error {
	switch {
	case e.line != nil && failed:
		return e.line.giveUp()
	case e.line != nil:
		return e.line.close()
	case e.closing != nil:
		return e.closing()
	}
	return nil
}
