package serve

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/invite"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/fault"
)

// greet prints where the server is, all of it below a path, and, without a key, how to make one. After a restore it prints nothing.
func (s *server) greet(store *kv.Store, below string) {
	if s.greeted {
		return
	}
	s.greetPlaces(below)
	s.greetKeys(store)
	s.prompt()
	if s.Ready != nil {
		s.Ready(s.API.Address)
	}
}

// greetPlaces prints where a browser on this machine, phones, and others by the public URL reach the server.
func (s *server) greetPlaces(below string) {
	out := s.Console.Out
	site := invite.Site{Scheme: s.Certificate.Scheme(), Address: s.API.Address, Host: s.machine}
	all := site.URLs(below + "/")
	here, phones := strings.TrimSuffix(all[len(all)-1], "/"), all[:len(all)-1]
	fmt.Fprintf(out, "Doorward answers at %s/ (API documentation: %s/docs)\n", here, here)
	for i, phone := range phones {
		said := "Phones in the same network: "
		if i > 0 {
			said = "                         or: "
		}
		fmt.Fprintln(out, said+phone)
	}
	if s.API.PublicURL != "" {
		fmt.Fprintf(out, "Elsewhere it is reached at %s/\n", strings.TrimRight(s.API.PublicURL, "/"))
	}
	if s.shown.leaf != nil {
		fmt.Fprintf(out, "There https is answered too, to phones that trust %s. How they come to trust it: %s tls show --data %s\n",
			s.machine, console.Shell(s.Console.Name), console.Shell(s.Dir))
	}
}

// greetKeys prints how the first key is made. On a laptop it prints which keys work there.
func (s *server) greetKeys(store *kv.Store) {
	out := s.Console.Out
	keys, err := store.Keys.Keys(auth.Operator())
	u, joined, failed := store.Laptop.Upstream()
	if err != nil || failed != nil {
		return // the requests that need them report the error
	}
	switch names := working(keys, store.Tables.Clock.Now()); {
	case !joined && len(keys) == 0:
		where, err := filepath.Abs(s.Dir)
		if err != nil {
			where = s.Dir
		}
		doubt := ""
		if isEmpty(store) {
			doubt = " If you expected your congregation here, stop, and look at --data."
		}
		fmt.Fprintf(out, "There is no key yet in %s.%s\nThe first key is made with:\n  %s keys add --data %s --name admin --level denomination --allow %s\n",
			where, doubt, console.Shell(s.Console.Name), console.Shell(s.Dir), console.Shell("*:*"))
	case joined && u.Revoked:
		fmt.Fprintf(out, "This laptop (%s) is REVOKED at %s: it sells and edits nothing more. Its check-ins are still taken there, for review.\n", u.Name, u.URL)
	case joined && len(names) == 0:
		fmt.Fprintf(out, "This laptop is %s at %s. The keys of its doors come from there; none has come yet.\n", u.Name, u.URL)
	case joined:
		fmt.Fprintf(out, "This laptop is %s at %s. Keys that work here: %s\n", u.Name, u.URL, fault.Listed(names))
	}
}

// isEmpty reports whether the store has no record.
func isEmpty(store *kv.Store) bool {
	counts, err := store.Figures.RecordCounts(auth.Operator())
	for _, n := range counts {
		if n > 0 {
			return false
		}
	}
	return err == nil
}

// working are the keys that can log in now, each with its level.
func working(keys []auth.Key, now time.Time) (names []string) {
	for i := range keys {
		if k := &keys[i]; k.Works(now) {
			names = append(names, fmt.Sprintf("%s (%s)", k.Name, k.Level.String()))
		}
	}
	return names
}

// prompt shows, on a terminal alone, a QR code that opens the door's page on one phone, and another one for each line that is typed. A
// ticket must not come into a log that is kept.
func (s *server) prompt() {
	if !console.IsTerminal(s.Console.In) || !console.IsTerminal(s.Console.Out) {
		return
	}
	console.KeepInBackground()
	go s.answerLines() // it ends with the program: a read from a terminal cannot be ended
}

// answerLines shows the first code, and one for each line: an empty one, or the number of an event.
func (s *server) answerLines() {
	s.showDoor("")
	lines := bufio.NewScanner(s.Console.In)
	for lines.Scan() {
		s.showDoor(strings.TrimSpace(lines.Text()))
	}
}

// askWithin is how long the server may take to answer its own terminal.
const askWithin = 10 * time.Second

// showDoor shows a code for one more phone, or why there is none.
func (s *server) showDoor(event string) {
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	l := control.ViaSocket(control.Opening{Folder: s.Folder, Console: s.Console})
	defer func() { _ = l.Close() }() // the answer was read
	door, err := invite.AskDoor(ctx, l, invite.Wanted{Event: event})
	out := s.Console.Out
	if err != nil {
		fmt.Fprintf(out, "No code for a phone: %s\n", console.Printable(err.Error()))
	} else {
		door.Print(out)
	}
	fmt.Fprintln(out, "For a code for one more phone press Enter, or type the number of an event and press Enter.")
}
