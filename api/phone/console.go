package phone

import (
	"errors"
	"slices"
	"time"

	"doorward/api/overview"
	"doorward/api/web"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/table"
)

// maxCards is how many events the console counts.
const maxCards = 10

// Console is what a principal is shown of the events that it may serve, and of what needs attention. The path of the server is left out.
func Console(c overview.Config) (w web.Console, err error) {
	w.Name = c.Who.Name()
	all, err := c.Store.Door.DoorEvents(c.Who)
	if err != nil {
		return w, err
	}
	now := c.Store.Tables.Clock.Now()
	near, later := Near(all, now)
	slices.SortStableFunc(near, func(a, b door.DoorEvent) int { return over(a, now) - over(b, now) })
	if len(near) > maxCards {
		near, later = near[:maxCards], slices.Concat(near[maxCards:], later)
	}
	for _, e := range near {
		card, err := cardOf(c, e)
		if errors.Is(err, table.ErrNotFound) {
			continue // it was deleted a moment ago
		}
		if err != nil {
			return w, err
		}
		w.Near = append(w.Near, card)
	}
	for _, e := range later {
		w.Later = append(w.Later, plainCard(e))
	}
	w.Needs, err = needsOf(c)
	return w, err
}

// over is 1 for an event that has ended, else 0.
func over(e door.DoorEvent, now time.Time) int {
	if e.End.Before(now) {
		return 1
	}
	return 0
}

// plainCard is an event without counts.
func plainCard(e door.DoorEvent) web.Card {
	return web.Card{ID: e.ID, Name: e.Name, Start: e.Start.UTC().Format(time.RFC3339), Open: e.Open, Reentry: e.Reentry}
}

// cardOf is an event with its counts, and the roles of the helpers that the principal may let in.
func cardOf(c overview.Config, e door.DoorEvent) (web.Card, error) {
	card := plainCard(e)
	st, err := c.Store.Door.Status(c.Who, e.ID)
	if err != nil {
		return card, err
	}
	card.In, card.Expected = st.Admitted, st.Issued
	if e.Reentry {
		card.In = st.Inside
	}
	for _, as := range []Role{Steward, Supervisor} {
		err := Check(c.Store, c.Who, e, as)
		if err == nil {
			card.Roles = append(card.Roles, string(as))
		} else if !errors.As(err, new(*auth.Forbidden)) {
			return card, err
		}
	}
	return card, nil
}

// needsOf are the sentences of the overview that ask for a person, for a key that rules the whole store.
func needsOf(c overview.Config) (texts []string, err error) {
	if c.Who.CheckRule() != nil {
		return nil, nil
	}
	view, err := overview.Take(c)
	if err != nil {
		return nil, err
	}
	for _, n := range view.Needs {
		texts = append(texts, n.Text)
	}
	return texts, nil
}
