package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"doorward/kv/fault"
)

// erased is what an erasure has taken away, as the handler answers it.
type erased struct {
	Tickets     int64
	Memberships int64
	Free        []string `json:"free_databases"`
	MoreFree    int      `json:"free_databases_more"`
	Older       []string `json:"older_files"`
}

// erasable is whom an erasure means, as the handler answers it.
type erasable struct {
	ID       int64
	Name     string  `json:"full_name"` // "" = nobody has it any more
	ErasedAt *string `json:"erased_at"`
}

func (e erasable) question() string {
	if e.Name == "" {
		return fmt.Sprintf("Person %d was deleted. Erase what is left for good? Type yes: ", e.ID)
	}
	return fmt.Sprintf("Erase %s (person %d) for good? Type yes: ", e.Name, e.ID)
}

// errUnconfirmed is an erasure that nobody has said yes to.
var errUnconfirmed = usageError{errors.New("nothing was erased; --yes says that it shall be")}

func (m *Main) eraseCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use: "erase", Short: "Erase somebody for good", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(m.erasePersonCommand(set))
	return cmd
}

func (m *Main) erasePersonCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use: "person ID", Short: "Erase a person for good, here and on every laptop", Args: words(1),
		Long: "The person, all that was known of the person before, memberships, and the names on tickets go; the tickets stay valid.\n" +
			"Neither a laptop nor a restored backup brings them back. It cannot be undone.",
	}
	asJSON := jsonFlag(cmd)
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || id < 1 {
			return usageError{fmt.Errorf("%s is no person's ID", args[0])}
		}
		return m.on(cmd.Context(), opening{settings: set}, func(c *control) error {
			who, err := c.toErase(cmd.Context(), id)
			if err != nil {
				return err
			}
			if !*yes && who.ErasedAt == nil {
				if err := m.confirm(cmd.Context(), who.question()); err != nil {
					return err
				}
			}
			return m.erase(cmd.Context(), c, who, *asJSON)
		})
	}
	return cmd
}

// confirm asks on a terminal; elsewhere nobody is there to be asked.
func (m *Main) confirm(ctx context.Context, question string) error {
	if f, ok := m.Stdin.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
			return errUnconfirmed
		}
	}
	fmt.Fprint(m.Stderr, question)
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(m.Stdin).ReadString('\n') // what cannot be read is no yes
		answered <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return errStopped
	case line := <-answered:
		if line != "yes" {
			return errUnconfirmed
		}
		return nil
	}
}

// toErase finds whom an erasure means.
func (c *control) toErase(ctx context.Context, id int64) (who erasable, err error) {
	q := url.Values{"id": {strconv.FormatInt(id, 10)}}
	answer, err := c.call(ctx, request{method: http.MethodGet, path: "/control/erase", query: q})
	if err != nil {
		return who, fmt.Errorf("person %d: %w", id, err)
	}
	if err := json.Unmarshal(answer, &who); err != nil {
		return who, fmt.Errorf("the server's answer: %w", err)
	}
	return who, nil
}

// erase erases, also whom it was done to before: something may have come since.
func (m *Main) erase(ctx context.Context, c *control, who erasable, asJSON bool) error {
	id := who.ID
	q := url.Values{"id": {strconv.FormatInt(id, 10)}}
	answer, err := c.call(ctx, request{method: http.MethodPost, path: "/control/erase", query: q})
	if errors.Is(err, errStopped) {
		err = fmt.Errorf("%w; the person may be erased nevertheless", err)
	}
	if err != nil {
		return fmt.Errorf("person %d: %w", id, err)
	}
	if asJSON {
		return m.printJSON(answer)
	}
	var e erased
	if err := json.Unmarshal(answer, &e); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	if who.ErasedAt != nil {
		fmt.Fprintf(m.Stdout, "person %d was erased on %s\n", id, *who.ErasedAt)
		if e.Tickets == 0 && e.Memberships == 0 {
			return nil
		}
	}
	fmt.Fprintf(m.Stdout, "person %d is erased, with %s memberships and the names on %s tickets\n", id, number(e.Memberships), number(e.Tickets))
	fmt.Fprintln(m.Stdout, "their bytes leave the file when it is compacted: a server does so within a day, doorward compact at once")
	if len(e.Free) > 0 {
		fmt.Fprintln(m.Stdout, "free databases hold no records; whether a document there tells of the person is yours to look:", fault.ListedOf(e.Free, e.MoreFree))
	}
	return m.printOlder(e.Older)
}

// printOlder names the files that hold what was erased.
func (m *Main) printOlder(files []string) error {
	if len(files) > 0 {
		fmt.Fprintln(m.Stdout, "older files still hold it, and are yours to delete:")
	}
	for _, file := range files {
		fmt.Fprintf(m.Stdout, "  %s\n", file)
	}
	return nil
}
