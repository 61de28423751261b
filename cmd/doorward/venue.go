package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"doorward/api"
	"doorward/api/overview"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/invite"
	"doorward/kv/fault"
	"doorward/sync/venue"

	"github.com/spf13/cobra"
)

// invited is the code by which the laptop joins.
type invited struct {
	Code    string    `json:"code"`
	URL     string    `json:"url"`
	Expires time.Time `json:"expires_at"`
}

const venueEnrolExamples = `  # a laptop for the doors of an event
  doorward venue enrol --data data --event 7 --name "North door"
  # a laptop of a church, with its people and groups
  doorward venue enrol --data data --church 3 --name Office`

func venueEnrolCommand(t *tool) *cobra.Command {
	var e api.EnrolForm
	cmd := &cobra.Command{
		Use: "enrol", Short: "Make the code by which one laptop may join, once and within a day", Args: words(0),
		Example:     venueEnrolExamples,
		Annotations: map[string]string{"event": "--event, --church or --mirror says what the laptop takes along.", "door_data": "--door-data takes names or labels."},
		Long: "Make the code by which one laptop may join, once and within a day, and print the command for the laptop. Run it at the centre.\n\n" +
			"A laptop that is enrolled for events takes them along and checks people in; one that is enrolled for churches takes their\n" +
			"people and groups too, and of their events those that --event names, or all. Where --event names some, the laptop sells tickets\n" +
			"at these alone, not at an event that it makes itself.",
	}
	t.jsonFlag(cmd)
	f := cmd.Flags()
	f.Int64SliceVar(&e.Events, "event", []int64{}, "an event that it takes along; may be given several times")
	f.Int64SliceVar(&e.Churches, "church", []int64{}, "a church that it takes along; may be given several times")
	f.StringVar(&e.Name, "name", "", "what the laptop is called")
	f.BoolVar(&e.Finance, "finance", false, "the churches' financial entries too")
	f.BoolVar(&e.Mirror, "mirror", false, "a mirror of everything, to read")
	f.StringVar(&e.DoorData, "door-data", "names", "what a door finds tickets by: names, or labels alone")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), control.Need{}, func(l *control.Line) error {
			in, err := control.Ask[invited](cmd.Context(), l, control.PostJSON("/control/venue/enrol", e))
			if err != nil {
				return err
			}
			return t.tell(in, func() { printCode(t, in) })
		})
	}
	return cmd
}

// printCode prints the code and the command to run at the laptop.
func printCode(t *tool, in invited) {
	about, join := in.instruct()
	fmt.Fprintf(t.Out, "code  %s\n\nIt works once, until %s.%s At the laptop%s:\n  doorward venue join --data DIR %s\n",
		in.Code, in.Expires.In(t.folder.Zone).Format("Monday, 2 January 2006, 15:04 MST"), about.before, about.after, join)
	if in.plain() == nil && console.IsTerminal(t.Out) {
		invite.Draw(t.Out, in.URL)
	}
}

// plain returns why a laptop would not join at the address as it is; nil = it would.
func (in *invited) plain() error { return venue.CheckCentre(in.URL, false) }

// guidance has the remarks before and after the words "At the laptop".
type guidance struct{ before, after string }

// instruct returns remarks for the operator, and the arguments of venue join.
func (in *invited) instruct() (g guidance, args string) {
	switch err := in.plain(); {
	case in.URL == "":
		g.before = " No server runs on this folder, so the address of the centre is not known."
		g.after = ", with that address in the place of ADDRESS"
		return g, "--upstream ADDRESS --code " + in.Code
	case errors.Is(err, venue.ErrPlain):
		g.before = " The address of the centre is http://, where everybody on the way can read all:\n" +
			"better serve with --public-url https://NAME, which a proxy answers, and enrol the laptop then."
		g.after = ", if you trust the network as it is"
		return g, "--insecure " + console.Shell(in.URL)
	case venue.IsLocal(in.URL):
		g.before = " The address of the centre is one of this machine alone:\n" +
			"for another machine serve with --public-url https://NAME, which a proxy answers, and enrol the laptop then."
		g.after = ", if that is this machine too"
	}
	return g, console.Shell(in.URL)
}

func venueJoinCommand(t *tool) *cobra.Command {
	var j control.Joining
	cmd := &cobra.Command{
		Use: "join [URL]", Short: "Make this laptop one of a centre's, by the code that the centre has given", Args: words(0, 1),
		Long: "Make this laptop one of a centre's, once, in an empty folder. The URL is the one that venue enrol has printed at the centre; it holds\n" +
			"the code. --upstream and --code give the two one by one. From then on serve keeps the laptop in step.",
		Example: "  doorward venue join --data laptop https://centre.example/#K7QP2M9D4RSX1ABC",
	}
	t.jsonFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&j.URL, "upstream", "", "where the centre is")
	f.StringVar(&j.Code, "code", "", "the code")
	f.BoolVar(&j.Insecure, "insecure", false, "allow http:// to another machine, where everybody on the way can read all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && j.URL != "" || len(args) == 0 && j.URL == "" {
			return console.Usage(fmt.Errorf("the centre's URL is wanted, or --upstream and --code"))
		}
		if len(args) > 0 {
			j.URL = args[0]
		}
		return t.with(cmd.Context(), control.Need{Creates: true}, func(l *control.Line) error { return joinCentre(cmd.Context(), t, l, j) })
	}
	return cmd
}

func joinCentre(ctx context.Context, t *tool, l *control.Line, j control.Joining) error {
	answer, err := l.Call(ctx, control.PostJSON(control.JoinPath, j))
	if err != nil {
		return err
	}
	var u control.Centre
	return t.show(answer, &u, func() error {
		return t.Printf("this laptop is %s, number %d at %s; serve keeps it in step\n", u.Name, u.ID, u.URL)
	})
}

const laptopsPath = "/admin/v1/venues/"

func venueListCommand(t *tool) *cobra.Command {
	cmd := listCommand(t, "List the laptops and when they were met", laptopsPath, func(all []overview.Laptop) any { return all }, printVenues)
	cmd.Long = "List the laptops and when they were met. TAKES are the databases that a laptop has, and BACKLOG the changes that are still to come from it."
	cmd.Example = "  doorward venue list --data data"
	return cmd
}

func printVenues(t *tool, all []overview.Laptop) {
	w := tabwriter.NewWriter(t.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tTAKES\tLAST MET\tBACKLOG\tREVOKED")
	for _, v := range all {
		met, revoked := "never", "-"
		if at := (time.Time{}); json.Unmarshal(v.LastContact, &at) == nil && !at.IsZero() {
			met = at.In(t.folder.Zone).Format("2006-01-02 15:04:05")
		}
		switch {
		case v.Wiped:
			revoked = "wiped"
		case v.Revoked:
			revoked = "revoked"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", v.ID, console.Printable(v.Name), fault.ListedOf(v.Scopes, v.MoreScopes), met, console.OrDash(v.Backlog), revoked)
	}
	_ = w.Flush() // standard output keeps the error
}

func venueRevokeCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke ID|NAME", Short: "End what a laptop may; its check-ins are still taken, and marked", Example: `  doorward venue revoke "North door" --data data`,
		Long: "End what a laptop may: it reads nothing new and edits nothing. Its check-ins are still taken, and marked for review.",
	}
	return venueEndCommand(t, cmd, "is revoked: it reads nothing more, and its facts are marked for review")
}

func venueWipeCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "wipe ID|NAME", Short: "Revoke a laptop and have it wipe its folder when it is met next", Example: `  doorward venue wipe "North door" --data data`,
		Long: "Revoke a laptop, and have it clear its folder of the store when it is met next and has handed over its last check-in. The order counts\n" +
			"over https, or on the same machine. Backups that lie there stay.",
	}
	return venueEndCommand(t, cmd, "is revoked, and wipes itself when it is met next and has handed over its last check-in")
}

// venueEndCommand completes revoke or wipe.
func venueEndCommand(t *tool, cmd *cobra.Command, done string) *cobra.Command {
	verb := cmd.Name()
	cmd.Args = words(1)
	t.jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), control.Need{}, func(l *control.Line) error {
			v, err := findLaptop(cmd.Context(), l, args[0])
			if err != nil {
				return err
			}
			id := v.ID
			if verb == "revoke" && v.Revoked {
				return fmt.Errorf("laptop %d is revoked already", id)
			}
			path := "/control/venue/" + strconv.FormatInt(id, 10) + "/" + verb
			if _, err := l.Call(cmd.Context(), control.Post(path, nil)); err != nil {
				return fmt.Errorf("laptop %d: %w", id, err)
			}
			return t.tell(map[string]any{"id": id, verb: true}, func() { fmt.Fprintf(t.Out, "laptop %d %s\n", id, done) })
		})
	}
	return cmd
}

// findLaptop finds the laptop that arg names, by its id or its name. Of several laptops with one name, revoked ones count only if all are
// revoked. It refuses an id that is the name of another laptop, because either may be meant.
func findLaptop(ctx context.Context, l *control.Line, arg string) (*overview.Laptop, error) {
	all, err := control.List[overview.Laptop](ctx, l, laptopsPath, nil)
	if err != nil {
		return nil, err
	}
	id, noID := strconv.ParseInt(arg, 10, 64)
	var known *overview.Laptop
	var named, revoked []*overview.Laptop
	for i := range all {
		switch v := &all[i]; {
		case noID == nil && v.ID == id:
			known = v
		case !strings.EqualFold(v.Name, strings.TrimSpace(arg)):
		case v.Revoked:
			revoked = append(revoked, v)
		default:
			named = append(named, v)
		}
	}
	switch {
	case known != nil && len(named) == 0:
		return known, nil
	case known != nil:
		return nil, console.Usage(fmt.Errorf("%s is the ID of the laptop %q and the name of another: say %q, or the ID of the other, %d",
			arg, known.Name, known.Name, named[0].ID))
	case len(named) == 0:
		named = revoked
	}
	switch len(named) {
	case 0:
		return nil, console.Usage(fmt.Errorf("no laptop has the ID or name %q; venue list shows them", arg))
	case 1:
		return named[0], nil
	}
	var ids []string
	for _, v := range named {
		ids = append(ids, strconv.FormatInt(v.ID, 10))
	}
	return nil, console.Usage(fmt.Errorf("several laptops have the name %q: say the ID, one of %s", arg, fault.Listed(ids)))
}
