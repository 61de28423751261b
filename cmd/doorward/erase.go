package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"

	"doorward/api"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/kv/fault"

	"github.com/spf13/cobra"
)

// question asks whether to erase a person.
func question(e api.Erasable) string {
	if e.Name == "" {
		return fmt.Sprintf("Person %d was deleted. Erase what is left for good? Type yes: ", e.ID)
	}
	return fmt.Sprintf("Erase %s (person %d) for good? Type yes: ", console.Printable(e.Name), e.ID)
}

// errUnconfirmed says that no one has confirmed an erasure.
var errUnconfirmed = console.Usage(errors.New("nothing was erased: type yes where it asks, or add --yes"))

func erasePersonCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "person ID", Short: "Erase a person for good, here and on every laptop", Args: words(1),
		Example: "  doorward erase person 17 --data data",
		Long: "Erase a person for good, here and on every laptop. Run it at the centre. It shows the name and asks.\n\n" +
			"The person, all that was known of the person before, memberships, and the names on tickets go; the tickets stay valid.\n" +
			"Neither a laptop nor a restored backup brings them back. It cannot be undone.",
	}
	t.jsonFlag(cmd)
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || id < 1 {
			return console.Usage(fmt.Errorf("%s is no person's ID", args[0]))
		}
		return t.with(cmd.Context(), control.Need{}, func(l *control.Line) error {
			who, err := findErasable(cmd.Context(), l, id)
			if err != nil {
				return err
			}
			if !*yes && who.ErasedAt == nil {
				if err := confirm(cmd.Context(), t, question(who)); err != nil {
					return err
				}
			}
			return erase(cmd.Context(), t, l, who)
		})
	}
	return cmd
}

// confirm asks for a yes. It asks on a terminal only, and fails elsewhere.
func confirm(ctx context.Context, t *tool, question string) error {
	if f, ok := t.In.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
			return errUnconfirmed
		}
	}
	line, err := t.Ask(ctx, question)
	if err == nil && line != "yes" {
		err = errUnconfirmed
	}
	return err
}

// findErasable finds the person that an erasure means.
func findErasable(ctx context.Context, l *control.Line, id int64) (who api.Erasable, err error) {
	who, err = control.Ask[api.Erasable](ctx, l, control.Get("/control/erase", url.Values{"id": {strconv.FormatInt(id, 10)}}))
	if err != nil {
		err = fmt.Errorf("person %d: %w", id, err)
	}
	return who, err
}

// erase erases a person. A person may be erased twice, because records may have come since.
func erase(ctx context.Context, t *tool, l *control.Line, who api.Erasable) error {
	id := who.ID
	q := url.Values{"id": {strconv.FormatInt(id, 10)}}
	answer, err := l.Call(ctx, control.Post("/control/erase", q))
	if errors.Is(err, console.ErrStopped) {
		err = fmt.Errorf("%w; the person may be erased nevertheless", err)
	}
	if err != nil {
		return fmt.Errorf("person %d: %w", id, err)
	}
	if t.asJSON {
		return t.JSON(answer)
	}
	var e api.Erased
	if err := control.Read(answer, &e); err != nil {
		return err
	}
	if who.ErasedAt != nil {
		fmt.Fprintf(t.Out, "person %d was erased on %s\n", id, *who.ErasedAt)
		if e.Tickets == 0 && e.Memberships == 0 {
			return nil
		}
	}
	fmt.Fprintf(t.Out, "person %d is erased, with %s %s and the names on %s %s\n", id,
		console.Number(e.Memberships), console.Plural(e.Memberships, "membership", "memberships"),
		console.Number(e.Tickets), console.Plural(e.Tickets, "ticket", "tickets"))
	fmt.Fprintln(t.Out, "their bytes leave the file when it is compacted: a server does so within a day, doorward compact at once")
	if len(e.Free) > 0 {
		fmt.Fprintln(t.Out, "free databases hold no records; whether a document there tells of the person is yours to look:", fault.ListedOf(e.Free, e.MoreFree))
	}
	printOlder(t.Out, e.Files)
	return nil
}
