package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	qrcode "github.com/skip2/go-qrcode"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"doorward/kv/fault"
	"doorward/sync"
)

func (m *Main) venueCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use: "venue", Short: "Let laptops take an event or a church along, and join with one", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(m.venueEnrolCommand(set), m.venueJoinCommand(set), m.venueListCommand(set),
		m.venueEndCommand(set, "revoke", "is revoked: it reads nothing more, and its facts are marked for review"),
		m.venueEndCommand(set, "wipe", "is revoked, and wipes itself when it is met next and has handed over its last check-in"))
	return cmd
}

// enrolment is what a laptop is enrolled for.
type enrolment struct {
	Name     string  `json:"name"`
	Events   []int64 `json:"events"`
	Churches []int64 `json:"churches"`
	Finance  bool    `json:"finance"`
	Mirror   bool    `json:"mirror"`
	DoorData string  `json:"door_data"`
}

// invited is the code that it joins by.
type invited struct {
	Code    string    `json:"code"`
	URL     string    `json:"url"`
	Expires time.Time `json:"expires_at"`
}

func (m *Main) venueEnrolCommand(set *settings) *cobra.Command {
	var e enrolment
	cmd := &cobra.Command{
		Use: "enrol", Short: "Make the code by which one laptop may join, once and within a day", Args: cobra.NoArgs,
		Long: "A laptop that is enrolled for events takes them along and checks people in; one that is enrolled for churches takes their\n" +
			"people and groups too, and of their events those that --event names, or all. Where --event names some, the laptop sells tickets\n" +
			"at these alone, not at an event that it makes itself.",
	}
	asJSON := jsonFlag(cmd)
	f := cmd.Flags()
	f.Int64SliceVar(&e.Events, "event", []int64{}, "an event that it takes along; may be given several times")
	f.Int64SliceVar(&e.Churches, "church", []int64{}, "a church that it takes along; may be given several times")
	f.StringVar(&e.Name, "name", "", "what the laptop is called")
	f.BoolVar(&e.Finance, "finance", false, "the churches' financial entries too")
	f.BoolVar(&e.Mirror, "mirror", false, "a mirror of everything, to read")
	f.StringVar(&e.DoorData, "door-data", "names", "what a door finds tickets by: names, or labels alone")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return m.on(cmd.Context(), opening{settings: set}, func(c *control) error {
			in, err := c.enrol(cmd.Context(), e)
			if err != nil {
				return err
			}
			if *asJSON {
				return m.printJSON(in)
			}
			return m.printCode(set, in)
		})
	}
	return cmd
}

func (c *control) enrol(ctx context.Context, e enrolment) (in invited, err error) {
	body, err := json.Marshal(e)
	if err != nil {
		return in, err
	}
	answer, err := c.call(ctx, request{method: http.MethodPost, path: "/control/venue/enrol", body: bytes.NewReader(body), json: true})
	if err != nil {
		return in, err
	}
	if err := json.Unmarshal(answer, &in); err != nil {
		return in, fmt.Errorf("the server's answer: %w", err)
	}
	return in, nil
}

// printCode says what to do at the laptop.
func (m *Main) printCode(set *settings, in invited) error {
	about, join := in.instruct()
	fmt.Fprintf(m.Stdout, "code  %s\n\nIt works once, until %s.%s At the laptop%s:\n  doorward venue join --data DIR %s\n",
		in.Code, in.Expires.In(set.zone).Format("Monday, 2 January 2006, 15:04 MST"), about.before, about.after, join)
	if out, ok := m.Stdout.(*stdout); !ok || in.plain() != nil || !isTerminal(out.w) {
		return nil
	}
	q, err := qrcode.New(in.URL, qrcode.Medium)
	if err != nil {
		return nil // an address too long for one is typed
	}
	_, err = fmt.Fprintf(m.Stdout, "\n%s", q.ToSmallString(false))
	return err
}

// plain answers why a laptop would not join at the address as it is; nil where it would.
func (in *invited) plain() error { return sync.CheckCentre(in.URL, false) }

// guidance is what is said before and after the words "At the laptop".
type guidance struct{ before, after string }

// instruct is what the operator has to know, and what stands behind the folder in a command that join takes.
func (in *invited) instruct() (g guidance, args string) {
	switch err := in.plain(); {
	case in.URL == "":
		g.before = " No server runs on this folder, so the address of the centre is not known."
		g.after = ", with that address in the place of ADDRESS"
		return g, "--upstream ADDRESS --code " + in.Code
	case errors.Is(err, sync.ErrPlain):
		g.before = " The address of the centre is http://, where everybody on the way can read all:\n" +
			"better serve with --public-url https://NAME, which a proxy answers, and enrol the laptop then."
		g.after = ", if you trust the network as it is"
		return g, "--insecure " + shell([]string{in.URL})
	case sync.IsLocal(in.URL):
		g.before = " The address of the centre is one of this machine alone:\n" +
			"for another machine serve with --public-url https://NAME, which a proxy answers, and enrol the laptop then."
		g.after = ", if that is this machine too"
	}
	return g, shell([]string{in.URL})
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// joining is what a laptop is told to join.
type joining struct {
	URL      string `json:"url"`
	Code     string `json:"code"`
	Insecure bool   `json:"insecure"`
}

func (m *Main) venueJoinCommand(set *settings) *cobra.Command {
	var j joining
	cmd := &cobra.Command{
		Use: "join [URL]", Short: "Make this laptop one of a centre's, by the code that the centre has given", Args: cobra.MaximumNArgs(1),
		Long: "The URL is the one that venue enrol has printed; it holds the code. --upstream and --code give the two one by one.",
	}
	asJSON := jsonFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&j.URL, "upstream", "", "where the centre is")
	f.StringVar(&j.Code, "code", "", "the code")
	f.BoolVar(&j.Insecure, "insecure", false, "allow http:// to another machine, where everybody on the way can read all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && j.URL != "" || len(args) == 0 && j.URL == "" {
			return usageError{fmt.Errorf("the centre's URL is wanted, or --upstream and --code")}
		}
		if len(args) > 0 {
			j.URL = args[0]
		}
		return m.on(cmd.Context(), opening{settings: set, makes: true}, func(c *control) error { return m.joinCentre(cmd.Context(), c, j, *asJSON) })
	}
	return cmd
}

func (m *Main) joinCentre(ctx context.Context, c *control, j joining, asJSON bool) error {
	body, err := json.Marshal(j)
	if err != nil {
		return err
	}
	answer, err := c.call(ctx, request{method: http.MethodPost, path: joinPath, body: bytes.NewReader(body), json: true})
	if err != nil {
		return err
	}
	if asJSON {
		return m.printJSON(answer)
	}
	var u joinedCentre
	if err := json.Unmarshal(answer, &u); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	_, err = fmt.Fprintf(m.Stdout, "this laptop is %s, number %d at %s; serve keeps it in step\n", u.Name, u.ID, u.URL)
	return err
}

// venue is a laptop as the handler answers it.
type venue struct {
	ID          int64    `json:"id"`
	Name        string   `json:"name"`
	Scopes      []string `json:"scopes"`
	MoreScopes  int      `json:"scopes_more,omitempty"`
	LastContact *string  `json:"last_contact"`
	Backlog     *int     `json:"backlog"`
	Offset      *int64   `json:"clock_offset_ms"`
	Version     *string  `json:"version"`
	Revoked     bool     `json:"revoked"`
	Wiped       bool     `json:"wiped"`
}

func (m *Main) venueListCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the laptops and when they were met", Args: cobra.NoArgs}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return m.on(cmd.Context(), opening{settings: set}, func(c *control) error {
			all, err := listAll[venue](cmd.Context(), c, "/admin/v1/venues/")
			switch {
			case err != nil:
				return err
			case *asJSON:
				return m.printJSON(all)
			}
			return m.printVenues(set, all)
		})
	}
	return cmd
}

func (m *Main) printVenues(set *settings, all []venue) error {
	w := tabwriter.NewWriter(m.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tTAKES\tLAST MET\tBACKLOG\tREVOKED")
	for _, v := range all {
		met, backlog, revoked := "never", "-", "-"
		if v.LastContact != nil {
			if at, err := time.Parse(time.RFC3339, *v.LastContact); err == nil {
				met = at.In(set.zone).Format("2006-01-02 15:04:05")
			}
		}
		if v.Backlog != nil {
			backlog = strconv.Itoa(*v.Backlog)
		}
		switch {
		case v.Wiped:
			revoked = "wiped"
		case v.Revoked:
			revoked = "revoked"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", v.ID, v.Name, fault.ListedOf(v.Scopes, v.MoreScopes), met, backlog, revoked)
	}
	return w.Flush()
}

// venueEndCommand is revoke or wipe.
func (m *Main) venueEndCommand(set *settings, verb, done string) *cobra.Command {
	cmd := &cobra.Command{Use: verb + " ID|NAME", Short: map[string]string{
		"revoke": "End what a laptop may; its check-ins are still taken, and marked",
		"wipe":   "Revoke a laptop and have it wipe its folder when it is met next",
	}[verb], Args: words(1)}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return m.on(cmd.Context(), opening{settings: set}, func(c *control) error {
			v, err := c.laptop(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			id := v.ID
			if verb == "revoke" && v.Revoked {
				return fmt.Errorf("laptop %d is revoked already", id)
			}
			path := "/control/venue/" + strconv.FormatInt(id, 10) + "/" + verb
			if _, err := c.call(cmd.Context(), request{method: http.MethodPost, path: path}); err != nil {
				return fmt.Errorf("laptop %d: %w", id, err)
			}
			if *asJSON {
				return m.printJSON(map[string]any{"id": id, verb: true})
			}
			_, err = fmt.Fprintf(m.Stdout, "laptop %d %s\n", id, done)
			return err
		})
	}
	return cmd
}

// laptop finds a laptop by its id or its name.
func (c *control) laptop(ctx context.Context, arg string) (v venue, err error) {
	all, err := listAll[venue](ctx, c, "/admin/v1/venues/")
	if err != nil {
		return v, err
	}
	id, err := laptopOf(all, arg)
	if err != nil {
		return v, err
	}
	return all[slices.IndexFunc(all, func(v venue) bool { return v.ID == id })], nil
}

// laptopOf is the id of the one laptop that has an id or a name. Of several of one name those that are revoked do not count, if another
// one is not. An id that is the name of another laptop is refused: either may be meant.
func laptopOf(all []venue, arg string) (int64, error) {
	id, err := strconv.ParseInt(arg, 10, 64)
	known := ""
	var live, revoked []string
	for i := range all {
		switch v := &all[i]; {
		case err == nil && v.ID == id:
			known = v.Name
		case !strings.EqualFold(v.Name, strings.TrimSpace(arg)):
		case v.Revoked:
			revoked = append(revoked, strconv.FormatInt(v.ID, 10))
		default:
			live = append(live, strconv.FormatInt(v.ID, 10))
		}
	}
	switch {
	case known != "" && len(live) == 0:
		return id, nil
	case known != "":
		return 0, usageError{fmt.Errorf("%s is the ID of the laptop %q and the name of another: say %q, or the ID of the other, %s", arg, known, known, live[0])}
	case len(live) == 0:
		live = revoked
	}
	switch len(live) {
	case 0:
		return 0, usageError{fmt.Errorf("no laptop has the ID or name %q; venue list shows them", arg)}
	case 1:
		return strconv.ParseInt(live[0], 10, 64)
	}
	return 0, usageError{fmt.Errorf("several laptops have the name %q: say the ID, one of %s", arg, fault.Listed(live))}
}
