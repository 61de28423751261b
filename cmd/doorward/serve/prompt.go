package serve

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/invite"
)

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
