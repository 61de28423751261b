package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"doorward/cmd/doorward/control"
)

// errCut is the end of a connection with a cut cable.
var errCut = errors.New("the cable is cut")

// cable is what lies between a helper's phone and the server.
type cable struct{ state atomic.Int32 }

// How a cable is: whole, about to lose the next answer, or cut.
const (
	whole int32 = iota
	losing
	cut
)

// dial connects through the cable.
func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.state.Load() == cut {
		return nil, errCut
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return &cabled{conn, c}, err
}

// cabled is a connection through a cable.
type cabled struct {
	net.Conn
	cable *cable
}

// Read reads what comes through the cable. An answer that is to be lost has been sent, and the cable is cut with it.
func (c *cabled) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.cable.state.Load() == losing {
		c.cable.state.Store(cut)
	}
	if c.cable.state.Load() == cut {
		return 0, errors.Join(errCut, c.Close())
	}
	return n, err
}

// Write writes into the cable.
func (c *cabled) Write(b []byte) (int, error) {
	if c.cable.state.Load() == cut {
		return 0, errors.Join(errCut, c.Close())
	}
	return c.Conn.Write(b)
}

// helper is a simulated helper with a phone, at a door of its own.
type helper struct {
	door   string
	event  int64
	at     string
	client *http.Client
	cable  *cable
	kept   []kept
	seen   tally
}

// kept is a scan that was not answered.
type kept struct {
	ticket ticket
	nonce  string
	at     time.Time
	letIn  bool
}

// ruling is what the server decides.
type ruling struct {
	Outcome string
	Checkin *string `json:"checkin_id"`
	Double  *string `json:"double_entry_id"`
}

// newHelper signs a phone in, with a ticket of the door that the operator shows.
func newHelper(ctx context.Context, s *stage, event int64, number int) (*helper, error) {
	shown, err := control.Ask[struct{ Ticket string }](ctx, s.line, control.Post("/control/door", url.Values{"event": {strconv.FormatInt(event, 10)}}))
	if err != nil {
		return nil, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	h := &helper{door: fmt.Sprintf("Rehearsal %d", number), event: event, at: s.at, cable: &cable{}, seen: newTally()}
	h.client = &http.Client{Jar: jar, Transport: &http.Transport{DialContext: h.cable.dial}}
	body, err := json.Marshal(map[string]string{"ticket": shown.Ticket, "name": h.door})
	if err != nil {
		return nil, err
	}
	return h, h.ask(ctx, "/door/v1/session/", body, nil)
}

// leave closes the helper's connections.
func (h *helper) leave() { h.client.CloseIdleConnections() }

// errRefused is an answer that decides nothing and is no cut cable.
var errRefused = errors.New("the server refused a request")

// ask sends a request and reads its answer into a value.
func (h *helper) ask(ctx context.Context, path string, body []byte, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.at+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.GetBody = nil // a request goes once, as a page sends it
	r.Header.Set("Content-Type", "application/json")
	resp, err := h.client.Do(r)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s: %s", errRefused, resp.Status, b)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(b, into)
}

// path is that of a request about the event.
func (h *helper) path(what string) string {
	return fmt.Sprintf("/door/v1/event/%d/%s/", h.event, what)
}

// work scans tickets one after the other. The cable is cut in the middle, for a twentieth of them and for two at least.
func (h *helper) work(ctx context.Context, tickets []ticket) error {
	from := len(tickets) / 2
	to := min(len(tickets), from+max(2, len(tickets)/20))
	for i, t := range tickets {
		if i == from {
			h.cable.state.Store(losing)
		}
		if err := h.scan(ctx, t, fmt.Sprintf("%s/%d", h.door, i)); err != nil {
			return err
		}
		if i == to-1 {
			if err := h.mend(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// scan asks about a ticket, or keeps the scan while the cable is cut. Every other guest is let in then.
func (h *helper) scan(ctx context.Context, t ticket, nonce string) error {
	begun := time.Now()
	var r ruling
	err := h.ask(ctx, h.path("scan"), t.scan(h.door, nonce), &r)
	switch {
	case err == nil:
		h.seen.times = append(h.seen.times, time.Since(begun))
		h.seen.note(t, r)
		return nil
	case errors.Is(err, errRefused) || h.cable.state.Load() != cut:
		return err
	}
	letIn := len(h.kept)%2 == 0 && t.Code != nil // scans are handed in by their codes
	h.kept = append(h.kept, kept{t, nonce, begun, letIn})
	return nil
}

// atOnce is how many scans are handed in with one request.
const atOnce = 50

// mend puts the cable together, hands in what the helper has let in, and asks again about the others.
func (h *helper) mend(ctx context.Context) error {
	h.cable.state.Store(whole)
	h.seen.Cut++
	h.seen.Kept += len(h.kept)
	var in []kept
	for _, k := range h.kept {
		if k.letIn {
			in = append(in, k)
			continue
		}
		if err := h.scan(ctx, k.ticket, k.nonce); err != nil {
			return err
		}
	}
	h.kept = nil
	for part := range slices.Chunk(in, atOnce) {
		if err := h.handIn(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// handIn hands in scans of guests that were let in.
func (h *helper) handIn(ctx context.Context, part []kept) error {
	var scans []map[string]any
	for _, k := range part {
		scans = append(scans, map[string]any{"code": *k.ticket.Code, "at": k.at.UTC().Format(time.RFC3339Nano), "nonce": k.nonce, "door": h.door, "let_in": true})
	}
	body, err := json.Marshal(map[string]any{"scans": scans})
	if err != nil {
		return err
	}
	var done struct{ Results []ruling }
	if err := h.ask(ctx, h.path("scans"), body, &done); err != nil {
		return err
	}
	if len(done.Results) != len(part) {
		return fmt.Errorf("%w: %d scans were answered, of %d", errRefused, len(done.Results), len(part))
	}
	for i, r := range done.Results {
		h.seen.note(part[i].ticket, r)
		if r.Outcome != admitted {
			h.seen.Differ++
		}
	}
	h.seen.Handed += len(part)
	return nil
}
